package attach_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/internal/systest/unprivileged"
	"github.com/go-usdt/usdt/reader"
)

func init() { roles["open"] = tracee.Obey(openChild()) }

// openChild opens the sessions that its commands name: PID, SELECTOR, and whether
// to use perf events.
func openChild() func(string) error {
	return func(command string) error {
		var pid int
		var selector string
		var perf bool
		if _, err := fmt.Sscan(command, &pid, &selector, &perf); err != nil {
			return err
		}
		o := attach.Options{Target: attach.Target{PIDs: []int{pid}}}
		if perf {
			o.Link = attach.PerfLink
		}
		// Since Linux 5.11 memory of BPF is not locked memory of the process.
		if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}); err != nil {
			return err
		}
		s, err := attach.Open(context.Background(), []string{selector}, &o)
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

func init() { roles["own"] = tracee.Obey(ownChild()) }

// ownChild attaches a program of its own, loaded for perf events, to the probes
// of the process that its command names.
func ownChild() func(string) error {
	return func(command string) error {
		var pid int
		if _, err := fmt.Sscan(command, &pid); err != nil {
			return err
		}
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "GPL", Instructions: asm.Instructions{
			asm.Mov.Imm(asm.R0, 0), asm.Return(),
		}})
		if err != nil {
			return err
		}
		process, err := reader.OpenProcess(pid)
		if err != nil {
			return err
		}
		var probes []reader.Probe
		for p, err := range process.Probes() {
			if err == nil && p.Provider == "typed" {
				probes = append(probes, p)
			}
		}
		_, err = attach.AttachProbes(prog, probes, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{pid}}})
		var missing *attach.PrivilegeError
		if errors.As(err, &missing) {
			return fmt.Errorf("lacks %v: %w", missing.Missing, err)
		}
		return err
	}
}

// TestOwnProgramUnprivileged checks that a missing privilege to open perf events
// is not reported as a site's fault.
func TestOwnProgramUnprivileged(t *testing.T) {
	p := start(t, become(t, tracee.Self("typed"), nobody))
	p.Do("load")
	tracer := start(t, become(t, tracee.Self("own"), nobody, unix.CAP_BPF, unix.CAP_PERFMON))
	tracer.Send("%d", p.PID())
	tracer.Next()
	if err := tracer.End(); err == nil || !strings.Contains(err.Error(), "lacks [CAP_SYS_ADMIN]:") {
		t.Errorf("got %v, want that it lacks CAP_SYS_ADMIN", err)
	}
}

const nobody, somebody = unprivileged.Nobody, unprivileged.Somebody

// become makes a command run as a user with these capabilities and no others.
func become(t testing.TB, cmd *exec.Cmd, user uint32, capabilities ...uintptr) *exec.Cmd {
	t.Helper()
	return unprivileged.As(t, cmd, user, capabilities...)
}

// unprivilegedTests together open each kind of session and of map, through each kind of site, target and
// link, and name what a session names.
var unprivilegedTests = []string{
	// Sessions.
	"TestAggregate", "TestAggregateIntervals", "TestC", "TestLatency", "TestLatencyLive", "TestPairs", "TestRecord", "TestRecorder",
	"TestSnapshots", "TestSpans", "TestThen", "TestViews", "ExampleFind", "ExampleOpenAggregate", "ExampleOpenPairs",
	// Values that are read where a probe fires.
	"TestBytes", "TestCountedText", "TestExpressionsC", "TestFollowDeep", "TestTask", "TestTyped", "TestVersionsAggregate", "TestWhereC",
	// Kinds of sites.
	"TestFunctionAggregate", "TestFunctions", "TestFunctionsBTF", "TestInstructions", "TestLatencyOfCalls", "TestLatencyOfGoroutines", "TestManyFunctions", "TestPairsOfFunctions", "TestSlots",
	// Links, and programs of others.
	"TestCloseAll", "TestCookies", "TestLinks", "TestOwnProgramOnFunctions", "TestStranded",
	// Processes that come and go.
	"TestHeadless", "TestNews", "TestRescanMachine", "TestRescanProcess", "TestStarting", "TestTargetChildren",
	// Stacks.
	"TestByStack", "TestLatencyByStack", "TestPairsStacks", "TestRecordStacks", "TestStackOfEnded", "TestStackOfGo",
	// Counts, and signals.
	"TestAggregateTotal", "TestReadClosed", "TestSample", "TestSignal",
}

// TestSuiteUnprivileged runs tests once more, as nobody with the two capabilities that this package
// asks for. All pass, except tests of perf events.
func TestSuiteUnprivileged(t *testing.T) {
	needMulti(t, features.HaveBPFLinkUprobeMulti())
	unprivileged.Suite(t, unprivilegedTests)
}

// TestMissingCapability checks that the error names the capability that is
// missing, and only that.
func TestMissingCapability(t *testing.T) {
	needMulti(t, features.HaveBPFLinkUprobeMulti())
	own := func(t *testing.T) *tracee.Program { return start(t, become(t, tracee.Self("typed"), nobody)) }
	others := func(t *testing.T) *tracee.Program { return start(t, become(t, tracee.Self("typed"), somebody)) }
	for _, test := range []struct {
		name    string
		traced  func(*testing.T) *tracee.Program
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
			p.Do("load")
			tracer := start(t, become(t, tracee.Self("open"), nobody, test.has...))
			tracer.Send("%d typed:* %t", p.PID(), test.name == "perf events")
			_, err := tracer.Next()
			ended := tracer.End()
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
