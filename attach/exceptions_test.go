package attach_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestExceptions asks for returns of functions through which exceptions of others pass: they are
// seen at their return instructions, and the program ends under the kernel's return probes. main,
// where they are caught, has such a probe.
func TestExceptions(t *testing.T) {
	needs.C(t)
	if _, err := exec.LookPath("g++"); err != nil {
		needs.Skip(t, "needs g++: %v", err)
	}
	dir := t.TempDir()
	library, program := filepath.Join(dir, "libpassing.so"), filepath.Join(dir, "exceptions")
	needs.Run(t, "g++", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-DLIBRARY", "-o", library, "testdata/exceptions.cc")
	needs.Run(t, "g++", "-O1", "-fno-optimize-sibling-calls", "-rdynamic", "-o", program, "testdata/exceptions.cc", "-L"+dir, "-Wl,-rpath,$ORIGIN", "-lpassing")
	for _, test := range []struct{ file, symbol string }{{program, "plain"}, {library, "_Z7passingi"}, {"libc.so.6", "qsort_r"}} {
		p := start(t, exec.Command(program))
		o := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
		if s := open(t, "uretprobe:"+program+":main", &o); s.Plan()[0].Probe.AtRET {
			t.Error("main has a probe at its return instruction")
		}
		if got := p.Do(""); got != "5" {
			t.Fatalf("the program caught %s exceptions", got)
		}
		s := open(t, "uretprobe:"+test.file+":"+test.symbol, &o)
		if got := p.Do(""); got != "5" {
			t.Errorf("the program caught %s exceptions under a probe at %s", got, test.symbol)
		}
		for _, site := range s.Plan() {
			if !site.Probe.AtRET {
				t.Errorf("%s: a return probe is at %#x, through which exceptions pass", test.symbol, site.Offset)
			}
		}
		if test.symbol == "qsort_r" {
			continue // others run that file
		}
		kernelReturn(t, test.file, test.symbol, p.PID())
		p.Send("")
		if err := p.End(); err == nil {
			t.Errorf("%s: the exception was caught: return instructions are not needed any more", test.symbol)
		}
	}
}

// kernelReturn attaches a return probe of the kernel's, whatever it does to the process.
func kernelReturn(t *testing.T, path, symbol string, pid int) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "GPL", Instructions: kernel.EmptyProgram()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close() })
	file, err := link.OpenExecutable(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := file.Uretprobe(symbol, prog, &link.UprobeOptions{PID: pid})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}
