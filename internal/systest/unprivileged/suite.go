// Package unprivileged runs programs and tests as users who have few capabilities.
package unprivileged

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// Nobody is a user who owns nothing, Somebody is another.
const Nobody, Somebody = 65534, 65533

// As makes a command run as a user with these capabilities and no others.
func As(t testing.TB, cmd *exec.Cmd, user uint32, capabilities ...uintptr) *exec.Cmd {
	t.Helper()
	needs.Root(t)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: user, Gid: user},
		AmbientCaps: capabilities,
	}
	return cmd
}

// skipped finds the tests that skip with -test.short, or for the kernel's sake in any case.
var skipped = regexp.MustCompile(`(?m)^    \S+\.go:\d+: (?:short: .*|this kernel runs no 32-bit programs)\n--- SKIP: (\S+) \(`)

// Suite runs tests of the calling test's package once more, as [Nobody] with the two
// capabilities that attaching takes. It leaves out their subtests of perf events, which take
// more, and of shared memory, which takes nothing. All tests must pass, unless they say that they are
// not short, or not for this kernel.
func Suite(t *testing.T, names []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("a second run of the suite takes long")
	}
	// The kernel is waited for most of the time: two processes run a half each.
	var outs [2][]byte
	var both sync.WaitGroup
	for i := range outs {
		var half []string
		for at := i; at < len(names); at += len(outs) {
			half = append(half, names[at])
		}
		cmd := As(t, exec.Command("/proc/self/exe", "-test.run", "^("+strings.Join(half, "|")+")$", "-test.skip", "/perf|//perf|/local|//local", "-test.v", "-test.short"), Nobody, unix.CAP_BPF, unix.CAP_PERFMON)
		cmd.Env = append(os.Environ(), "HOME=/tmp", "TMPDIR=/tmp")
		both.Go(func() {
			var err error
			if outs[i], err = cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, failures(string(outs[i])))
			}
		})
	}
	both.Wait()
	out := bytes.Join(outs[:], nil)
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "not allowed") {
			t.Errorf("it says %s", line)
		}
	}
	skips := map[string]bool{}
	for _, m := range skipped.FindAllSubmatch(out, -1) {
		skips[string(m[1])] = true
	}
	for _, name := range names {
		if !skips[name] && !bytes.Contains(out, []byte("--- PASS: "+name+" (")) {
			t.Errorf("%s has not passed", name)
		}
	}
}
