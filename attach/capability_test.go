package attach_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/needs"
)

func init() { children["open"] = openChild() }

// openChild opens the sessions that its commands name: PID SELECTOR, and
// whether by perf events.
func openChild() func(string) error {
	return func(command string) error {
		var pid int
		var selector string
		var perf bool
		if _, err := fmt.Sscan(command, &pid, &selector, &perf); err != nil {
			return err
		}
		o := attach.Options{PIDs: []int{pid}}
		if perf {
			o.Link = attach.PerfLink
		}
		// Since Linux 5.11 memory of BPF is not locked memory of the process.
		if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}); err != nil {
			return err
		}
		s, err := attach.Open(selector, &o)
		var missing *attach.PrivilegeError
		if errors.As(err, &missing) {
			return fmt.Errorf("lacks %v: %w", missing.Missing, err)
		}
		if err != nil {
			return err
		}
		return s.Close()
	}
}

// nobody is a user without privileges, somebody is another.
const nobody, somebody = 65534, 65533

// become makes a command run as a user with these capabilities and no others.
func become(t testing.TB, cmd *exec.Cmd, user uint32, capabilities ...uintptr) *exec.Cmd {
	t.Helper()
	needs.Root(t)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: user, Gid: user},
		AmbientCaps: capabilities,
	}
	return cmd
}

func childCommand(name string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), child+"="+name)
	return cmd
}

// TestSuiteUnprivileged runs the tests of what this package does once more, as
// nobody with the two capabilities that it asks for. None is skipped for want
// of privilege. Perf events on uprobes need CAP_SYS_ADMIN.
func TestSuiteUnprivileged(t *testing.T) {
	needMulti(t, features.HaveBPFLinkUprobeMulti()) // perf events need more
	if testing.Short() {
		t.Skip("a second run of the suite takes long")
	}
	const tests = "^(TestC|TestTyped|TestSites|TestProcessEnd|TestRescanProcess|TestWhere|TestAggregate.*|TestLinks|TestCookies|TestTwoTracers|TestCalledStub|TestSiteShapes)$"
	cmd := become(t, exec.Command("/proc/self/exe", "-test.run", tests, "-test.skip", "/perf_event", "-test.v"), nobody, unix.CAP_BPF, unix.CAP_PERFMON)
	cmd.Env = append(os.Environ(), "HOME=/tmp", "TMPDIR=/tmp")
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("not allowed")) {
		t.Errorf("%v\n%s", err, out)
	}
	if bytes.Contains(out, []byte("no tests to run")) || !bytes.Contains(out, []byte("--- PASS: TestTyped")) {
		t.Errorf("tests that have run:\n%s", out)
	}
}

// TestMissingCapability holds that the error names the capability that is
// missing, and only that.
func TestMissingCapability(t *testing.T) {
	needMulti(t, features.HaveBPFLinkUprobeMulti())
	own := func(t *testing.T) *program { return start(t, become(t, childCommand("typed"), nobody)) }
	others := func(t *testing.T) *program { return start(t, become(t, childCommand("typed"), somebody)) }
	for _, test := range []struct {
		name    string
		traced  func(*testing.T) *program
		has     []uintptr
		missing string // "" if nothing is
	}{
		{"enough", own, []uintptr{unix.CAP_BPF, unix.CAP_PERFMON}, ""},
		{"none", own, nil, "[CAP_BPF CAP_PERFMON]"},
		{"no BPF", own, []uintptr{unix.CAP_PERFMON}, "[CAP_BPF]"},
		{"no PERFMON", own, []uintptr{unix.CAP_BPF}, "[CAP_PERFMON]"},
		{"another user's process", others, []uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_PTRACE}, ""},
		{"no PTRACE", others, []uintptr{unix.CAP_BPF, unix.CAP_PERFMON}, "[CAP_SYS_PTRACE]"},
		{"SYS_ADMIN alone", own, []uintptr{unix.CAP_SYS_ADMIN}, ""},
		{"perf events", own, []uintptr{unix.CAP_BPF, unix.CAP_PERFMON}, "[CAP_SYS_ADMIN]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := test.traced(t)
			p.do("load")
			tracer := start(t, become(t, childCommand("open"), nobody, test.has...))
			if _, err := fmt.Fprintf(tracer.in, "%d typed:* %t\n", p.pid(), test.name == "perf events"); err != nil {
				t.Fatal(err)
			}
			_, err := tracer.out.ReadString('\n')
			ended := tracer.end()
			switch {
			case test.missing == "" && err != nil:
				t.Errorf("cannot trace: %v", ended)
			case test.missing != "" && err == nil:
				t.Errorf("can trace without %s", test.missing)
			case test.missing != "" && (ended == nil || !strings.Contains(ended.Error(), "lacks "+test.missing+":")):
				t.Errorf("got %v, want that it lacks %s", ended, test.missing)
			}
		})
	}
}
