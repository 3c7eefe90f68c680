package attach_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/reader"
)

// ownPrograms returns the programs that this process has descriptors of, and
// whether each has a private stack.
func ownPrograms(t testing.TB) map[ebpf.ProgramID]bool {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	all := map[ebpf.ProgramID]bool{}
	look := func(fd int) error {
		fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		prog, err := ebpf.NewProgramFromFD(fd)
		if err != nil {
			return err
		}
		defer prog.Close()
		info, err := prog.Info()
		if err != nil {
			return err
		}
		id, _ := info.ID()
		all[id] = bpf.HasPrivateStack(t, prog)
		return nil
	}
	for _, e := range entries {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); target != "anon_inode:bpf-prog" {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err == nil {
			err = look(fd)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestNoPrivateStack checks that no generated program has a private stack: of
// sessions with conditions and text, aggregates and latencies, of probes and of
// functions.
func TestNoPrivateStack(t *testing.T) {
	bpf.NeedPrivateStacks(t, "testdata/stack.bpf.c")
	p := startChild(t, "latency")
	p.Do("load")
	path := compile(t, "gcc", "-O2")
	c := start(t, exec.Command(path))
	pids := func(p *tracee.Program) *attach.Options {
		return &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
	}
	for what, open := range map[string]func(){
		"records": func() { open(t, "lat:*", pids(p)) },
		"untyped": func() { open(t, path+":args:*", pids(c)) },
		"condition": func() {
			open(t, "lat:*", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: `path ~ "*a*" && id > 7`})
		},
		"function": func() { open(t, "uprobe:"+path+":fire", pids(c)) },
		"results":  func() { open(t, "uretprobe:"+path+":fire", pids(c)) },
		"aggregate": func() {
			openAggregate(t, []string{"lat:end"}, attach.Hist("id").And(attach.Sum("id")).By("path", "pid"), pids(p))
		},
		"numbers": func() {
			openAggregate(t, []string{"lat:end"}, attach.Sum("code").By("id", "probe"), pids(p))
		},
		"latency": func() { openLatency(t, &attach.LatencyOptions{Key: []string{"id"}, By: []string{"path"}}, pids(p)) },
	} {
		before := ownPrograms(t)
		open()
		after := ownPrograms(t)
		if len(after) == len(before) {
			t.Errorf("%s: the session has no program", what)
		}
		for id, private := range after {
			if _, known := before[id]; !known && private {
				t.Errorf("%s: a program has a private stack", what)
			}
		}
	}
}

// TestOwnStack checks that Plan says which of the caller's programs have a
// private stack.
func TestOwnStack(t *testing.T) {
	bpf.NeedPrivateStacks(t, "testdata/stack.bpf.c")
	spec := bpf.ReadSpec(t, needs.CompileBPF(t, "testdata/stack.bpf.c"))
	delete(spec.Programs, "deeper")
	for _, p := range spec.Programs {
		p.AttachType = ebpf.AttachNone
	}
	own, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	probes := []reader.Probe{live.Probe(t, p.PID(), "args:bare")}
	for name, want := range map[string]bool{"small": false, "large": true, "calls": true, "tails": false, "left": true} {
		a, err := attach.AttachProbes(own.Programs[name], probes, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{p.PID()}}, Link: attach.PerfLink})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		notes := strings.Join(a.Plan()[0].Notes, "\n")
		if got := strings.Contains(notes, "a stack per CPU"); got != want {
			t.Errorf("%s: remark is there: %v, want %v, in %q", name, got, want, notes)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
