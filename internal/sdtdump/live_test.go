package sdtdump

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// traced is a process with the probes of serviceCommand's program.
type traced struct {
	*tracee.Program
	t   *testing.T
	pid int
}

func start(t *testing.T, cmd *exec.Cmd) *traced {
	t.Helper()
	p := tracee.Start(t, cmd).Ready()
	return &traced{p, t, p.PID()}
}

// probe returns sdtdump's output for the process's probe, with more flags.
func (c *traced) probe(name string, flags ...string) jsonProbe {
	c.t.Helper()
	text := output(c.t, append(flags, "--json", "-p", strconv.Itoa(c.pid), "--probe", name)...)
	var p jsonProbe
	if strings.Count(text, "\n") != 1 {
		c.t.Fatalf("got %q, want one probe %s", text, name)
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		c.t.Fatal(err)
	}
	return p
}

// path returns the path by which this host can open the probe's object.
func (p *jsonProbe) path() string {
	if p.Open != "" {
		return p.Open
	}
	return p.Path
}

// serviceCommand runs the program of service.
func serviceCommand(t *testing.T) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Args[0] = "service"
	return cmd
}

// TestLiveState attaches to a probe and checks its site and semaphore before,
// meanwhile and afterwards. A kernel optimises a site when it is hit.
func TestLiveState(t *testing.T) {
	needs.Root(t)
	if err := rlimit.RemoveMemlock(); err != nil {
		needs.Skip(t, "%v", err)
	}
	c := start(t, serviceCommand(t))
	check := func(when, state string, semaphore uint16) jsonProbe {
		t.Helper()
		p := c.probe("sdtdump_service:tick", "--disasm")
		if p.Site == nil || p.SemaphoreValue == nil {
			t.Fatalf("%s: got no site or no semaphore's value: %+v", when, p)
		}
		if p.Site.State != state || *p.SemaphoreValue != semaphore {
			t.Errorf("%s: got state %s and semaphore %d, want %s and %d", when, p.Site.State, *p.SemaphoreValue, state, semaphore)
		}
		return p
	}
	p := check("at first", "clean", 0)
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.Kprobe,
		Instructions: kernel.EmptyProgram(),
		License:      "GPL",
	})
	if err != nil {
		needs.Skip(t, "no BPF here: %v", err)
	}
	defer prog.Close()
	exe, err := link.OpenExecutable(p.path())
	if err != nil {
		t.Fatal(err)
	}
	l, err := exe.Uprobe("", prog, &link.UprobeOptions{Address: *p.Offset, RefCtrOffset: p.SemaphoreOffset, PID: c.pid})
	if err != nil {
		t.Fatal(err)
	}
	check("attached", "int3", 1)
	c.Do("fire")
	want := "int3"
	if p.Site.Optimizable {
		want = "call"
	}
	check("attached and hit", want, 1)
	if kernel := sys.UprobeOptimization(); p.Site.Optimizable != (kernel == sys.OptimizesNop5 || kernel == sys.OptimizesNop10) {
		t.Errorf("got optimizable %v for the site %s that was chosen for this kernel", p.Site.Optimizable, p.Site.Kind)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	check("detached", "clean", 0)
}

// TestContainer reads, from outside, a program in mount and PID namespaces of its
// own, whose path leads to another file or none here.
func TestContainer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inside", "service")
	program, pid := tracee.StartContainer(t, serviceCommand(t).Path, path)
	c := &traced{program, t, pid}
	p := c.probe("sdtdump_service:tick", "--disasm")
	if p.PID != c.pid || !strings.HasPrefix(p.Path, "/memfd:") || !strings.HasPrefix(p.Open, fmt.Sprintf("/proc/%d/", c.pid)) {
		t.Errorf("got pid %d, path %s, open %s", p.PID, p.Path, p.Open)
	}
	if p.Site == nil || p.Site.State != "clean" || len(p.Types) != 3 {
		t.Errorf("got site %+v and types %v", p.Site, p.Types)
	}
	// "open" names the object.
	var same jsonProbe
	if err := json.Unmarshal([]byte(output(t, "--json", "--probe", "sdtdump_service:tick", p.Open)), &same); err != nil {
		t.Fatal(err)
	}
	if same.BuildID != p.BuildID || *same.Location != *p.Location {
		t.Errorf("%s has build-id %s and location %#x, want %s and %#x", p.Open, same.BuildID, *same.Location, p.BuildID, *p.Location)
	}
}
