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

// needMore are the tests that TestSuiteUnprivileged leaves out, and why.
var needMore = map[string]string{
	"TestMissingCapability":      "becomes another user",
	"TestUserNamespace":          "gives a user namespace privileges",
	"TestOwnProgramUnprivileged": "becomes another user",
	"TestLocal*":                 "through shared memory, for which nobody needs a capability",
	"TestRecording*":             "reads files, for which nobody needs a capability",
	"TestStackOfC":               "names frames by files, for which nobody needs a capability; TestStackOfGo reads stacks",
	"TestUnwoundStackOfC":        "names frames by files, for which nobody needs a capability; TestStackOfGo reads stacks",
	"TestStackOfGoneFiles":       "mounts",
	"TestStackOfEndedGo":         "names frames by this program's file, which only root may reach; TestStackOfEnded has others",
	"TestByStackOfC":             "names frames by files, for which nobody needs a capability; TestByStack reads stacks",
	"TestByUnwoundStackOfC":      "names frames by files, for which nobody needs a capability; TestByStack reads stacks",
	"TestByStackShared":          "names frames by files, for which nobody needs a capability; TestByStack reads stacks",
	"TestDetachInBackground":     "perf events on uprobes need CAP_SYS_ADMIN",
	"TestHalt":                   "perf events on uprobes need CAP_SYS_ADMIN",
	"TestOneMoment":              "perf events on uprobes need CAP_SYS_ADMIN",
	"TestWrongProgram":           "perf events on uprobes need CAP_SYS_ADMIN",
	"TestSamePID":                "perf events on uprobes need CAP_SYS_ADMIN",
	"TestPairTimes":              "perf events on uprobes need CAP_SYS_ADMIN",
	"TestRing":                   "perf events on uprobes need CAP_SYS_ADMIN",
	"ExampleAttachment_*":        "mounts, and perf events on uprobes need CAP_SYS_ADMIN",
	"ExampleSession_Sites":       "perf events on uprobes need CAP_SYS_ADMIN",
	"ExampleCloseAll":            "perf events on uprobes need CAP_SYS_ADMIN",
	"ExampleAttachProbes":        "perf events on uprobes need CAP_SYS_ADMIN",
	"TestCgroup":                 "mounts",
	"TestCgroupAgain":            "mounts",
	"TestCgroupV1":               "mounts",
	"TestContainers":             "needs root",
	"TestContainersV1":           "mounts",
	"TestByContainer*":           "mounts",
	"TestWhereContainer*":        "mounts",
	"TestEventsOfContainers":     "mounts",
	"TestKernel*":                "addresses of the kernel take CAP_SYSLOG",
	"TestTrampoline*":            "addresses of the kernel take CAP_SYSLOG",
	"TestTracepoint*":            "reads tracefs, which takes CAP_DAC_READ_SEARCH",
	"TestEveryTracepoint":        "reads tracefs, which takes CAP_DAC_READ_SEARCH",
	"TestExecutableOnOverlay":    "mounts",
	"TestOverlays":               "mounts",
	"TestPanicOnWarn":            "mounts",
	"TestPIDNamespace":           "needs root",
	"TestNestedPIDNamespace":     "needs root",
	"TestOutsidePIDNamespace":    "needs root",
	"TestRescanNow":              "needs root",
	"TestGrowth":                 "needs root",
	"TestCrowd":                  "needs root",
	"TestThousand":               "needs root",
	"TestReusedPID":              "needs root",
	"TestReusedPIDOfMany":        "needs root",
	"TestTimeNamespace":          "makes time namespaces, which takes CAP_SYS_ADMIN",
	"TestPlanCopy":               "perf events on uprobes need CAP_SYS_ADMIN",
	"TestCost":                   "has the kernel measure, which takes CAP_SYS_ADMIN",
	"TestManyProcesses":          "perf events on uprobes need CAP_SYS_ADMIN",
	"TestPairsModel":             "perf events on uprobes need CAP_SYS_ADMIN",
	"TestSemaphores*":            "perf events on uprobes need CAP_SYS_ADMIN",
	"TestNoPrivateStack":         "looks at machine code, which CAP_SYSLOG may",
	"TestOwnStack":               "looks at machine code, which CAP_SYSLOG may",
	"TestFunctionsGo":            "builds with the go tool, whose cache is another user's",
	"TestGoReturnsOfVersions":    "builds with the go tool, whose cache is another user's",
	"TestReturnsOfSwitched":      "builds with rustc, which may be another user's",
	"TestForcedSwitches":         "perf events on uprobes need CAP_SYS_ADMIN",
	"TestExceptions":             "perf events on uprobes need CAP_SYS_ADMIN",
	"TestUnwoundCalls":           "perf events on uprobes need CAP_SYS_ADMIN",

	// Results that are computed of events, and losses of many, do not depend on who traces.
	"TestByStackOfManyEnded":   "takes long; TestStackOfEnded names code of processes that have ended",
	"TestChurnModel":           "compares many processes with a model; TestRescan has some",
	"TestCorpus*":              "executes instructions by the thousand; TestInstructions does some",
	"TestIntegers*":            "computes of integers; TestAggregate has some",
	"TestOtherForms":           "computes of what does not fit; TestVersionsAggregate does",
	"TestEqual*":               "compares ways; TestAggregate, TestC and TestPairs go by the kernel's",
	"TestExpressions*":         "computes keys and conditions; TestWhere has conditions, TestAggregate keys",
	"TestLatencyEviction":      "fills maps; TestLatency has some",
	"TestLatencyOfGoFunctions": "matches calls; TestLatency does",
	"TestManySearches":         "searches files",
	"TestNestedWhere":          "computes conditions; TestWhere has some",
	"TestOther*":               "fills maps; TestAggregate has some",
	"TestOverrun":              "fills the buffer; TestSample reads it",
	"TestQuantiles*":           "computes of buckets; TestAggregate has some",
	"TestRedZone":              "looks at the traced program; TestC does",
	"TestViewsDoNotAllocate":   "counts allocations of this process",
	"TestFlood":                "is about speed",
	"TestLinked":               "is about what linkers write; TestC traces such a program",
	"TestCloseMeanwhile":       "closes sessions at every moment; each other test closes one",
	"TestSwitchesOfStacks":     "is about what a program does; TestCoroutineReturns has a part of it",
	"TestEndedProcesses":       "is about processes that end; TestStackOfGo and others have some",
	"TestGoReturns":            "is about code; TestFunctionsGo has some",
}

// TestSuiteUnprivileged runs the other tests once more, as nobody with the two
// capabilities that this package asks for. All pass, except tests of perf events.
func TestSuiteUnprivileged(t *testing.T) {
	needMulti(t, features.HaveBPFLinkUprobeMulti())
	unprivileged.Suite(t, needMore, 50)
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
