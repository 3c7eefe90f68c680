// Package unprivileged runs programs and tests as users who have few capabilities.
package unprivileged

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
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

// Suite runs the other tests of the calling test's package once more, as [Nobody] with
// the two capabilities that attaching takes. All must pass, except for perf events,
// which take more, shared memory, which takes nothing, the tests in leftOut, which says
// why, and tests that say they are not short, or not for this kernel. A name in leftOut that
// ends in '*' stands for all that begin so. least is how many have to run at least.
func Suite(t *testing.T, leftOut map[string]string, least int) {
	t.Helper()
	if testing.Short() {
		t.Skip("a second run of the suite takes long")
	}
	names, err := exec.Command("/proc/self/exe", "-test.list", "^(Test|Example)").Output()
	if err != nil {
		t.Fatal(err)
	}
	skip := "^" + t.Name() + "$|"
	for name := range leftOut {
		end := "$|"
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			name, end = prefix, "|"
		}
		skip += "^" + name + end
		if !bytes.Contains(names, []byte(name)) {
			t.Errorf("%s is left out, and is no test", name)
		}
	}
	skip += "/perf|//perf|/local|//local"
	cmd := As(t, exec.Command("/proc/self/exe", "-test.run", "^(Test|Example)", "-test.skip", skip, "-test.v", "-test.short"), Nobody, unix.CAP_BPF, unix.CAP_PERFMON)
	cmd.Env = append(os.Environ(), "HOME=/tmp", "TMPDIR=/tmp")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, failures(string(out)))
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "not allowed") {
			t.Errorf("it says %s", line)
		}
	}
	isLeftOut := func(name string) bool {
		for left := range leftOut {
			if prefix, ok := strings.CutSuffix(left, "*"); left == name || ok && strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	}
	skips := map[string]bool{}
	for _, m := range skipped.FindAllSubmatch(out, -1) {
		skips[string(m[1])] = true
	}
	ran := 0
	for name := range strings.Lines(string(names)) {
		name = strings.TrimSpace(name)
		if name == t.Name() || isLeftOut(name) || skips[name] {
			continue
		}
		ran++
		if !bytes.Contains(out, []byte("--- PASS: "+name+" (")) {
			t.Errorf("%s has not passed", name)
		}
	}
	if ran < least {
		t.Errorf("%d tests have run, want most of %q", ran, names)
	}
}
