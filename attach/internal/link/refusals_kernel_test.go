package link

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// programFor returns a program for links of a kind.
func programFor(t *testing.T, k Kind) *ebpf.Program {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: k.ProgramType(), AttachType: k.AttachType(), Instructions: kernel.EmptyProgram(), License: kernel.License})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close() })
	return prog
}

// attachTo attaches a group by the kernel's own calls, until the test ends.
func attachTo(t *testing.T, g *Group, k Kind) ([]error, error) {
	t.Helper()
	if g.Ended == nil {
		g.Ended = func() bool { return false }
	}
	if g.Prog == nil {
		g.Prog = programFor(t, k)
	}
	links, refused, err := g.Attach(t.Context(), k)
	t.Cleanup(func() { closeAll(t, links) })
	return refused, err
}

// refusedWith checks that an error is one of some, and says what the table has for it.
func refusedWith(t *testing.T, k Kind, what string, err error, want ...error) {
	t.Helper()
	if !slices.ContainsFunc(want, func(one error) bool { return errors.Is(err, one) }) {
		t.Errorf("kind %d, %s: %v, want one of %v", k, what, err, want)
		return
	}
	if r := refusalOf(k, err); r == nil || !strings.Contains(err.Error(), r.says) {
		t.Errorf("kind %d, %s: %v, want what the table says", k, what, err)
	}
	t.Logf("kind %d, %s: %v", k, what, err)
}

// TestProbeRefusals provokes what the kernel refuses at sites of programs.
func TestProbeRefusals(t *testing.T) {
	needs.Root(t)
	file, err := sys.Memfd("refusals", slices.Concat(make([]byte, 16), []byte{0x90, 0xf4, 0x06}, make([]byte, 64)))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	mem, err := unix.Mmap(int(file.Fd()), 0, 19, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE) // or nothing is looked at
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	path := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	group := func(sites ...Site) *Group { return &Group{Path: path, Open: path, Sites: sites} }
	kinds := []Kind{Perf}
	if k, err := Choose(Multi, true); err == nil {
		kinds = append(kinds, k)
	}
	for _, k := range kinds {
		other := group(Site{Offset: 8, RefCtrOffset: 24})
		if refused, err := attachTo(t, other, k); err != nil || refused[0] != nil {
			t.Fatalf("kind %d: %v, %v", k, refused, err)
		}
		refused, err := attachTo(t, group(Site{Offset: 8, RefCtrOffset: 28}, Site{Offset: 12}), k)
		if err != nil || refused[1] != nil {
			t.Errorf("kind %d: %v, %v; want one site attached", k, refused, err)
		}
		refusedWith(t, k, "another semaphore", refused[0], unix.EINVAL)
		if runtime.GOARCH == "amd64" {
			refused, err := attachTo(t, group(Site{Offset: 16}, Site{Offset: 17}, Site{Offset: 18}), k) // nop, hlt, and no instruction
			if err != nil || refused[0] != nil {
				t.Errorf("kind %d: %v, %v; want the nop attached", k, refused, err)
			}
			refusedWith(t, k, "hlt", refused[1], enotsupp)
			refusedWith(t, k, "no instruction", refused[2], enotsupp, unix.ENOEXEC)
		}
		gone := group(Site{Offset: 8})
		gone.Open += "0"
		if _, err := attachTo(t, gone, k); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "is gone") {
			t.Errorf("kind %d, no file: %v", k, err)
		}
		child := exec.Command("true")
		if err := child.Run(); err != nil {
			t.Fatal(err)
		}
		ended := group(Site{Offset: 8})
		ended.PID, ended.Ended = child.Process.Pid, func() bool { return true }
		if _, err := attachTo(t, ended, k); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("kind %d, no process: %v", k, err)
		}
		if k == Multi {
			directory := group(Site{Offset: 8})
			directory.Open = "/"
			_, err := attachTo(t, directory, k)
			refusedWith(t, k, "a directory", err, unix.EBADF)
		}
	}
}

// TestKernelRefusals provokes what the kernel refuses at its own functions and tracepoints.
func TestKernelRefusals(t *testing.T) {
	needs.Kprobes(t)
	needs.Root(t)
	tracing := needs.Tracefs(t)
	table, err := kernfunc.Load()
	if err != nil {
		t.Fatal(err)
	}
	address := func(name string) uint64 {
		f := table.Find(name)
		if f == nil {
			t.Fatalf("no function %s", name)
		}
		return f.Address
	}
	k, err := ChooseKernel(reader.Kprobe, Auto)
	if errors.Is(err, os.ErrPermission) {
		return // the machine forbids its root to trace functions
	}
	if err != nil {
		t.Fatal(err)
	}
	kinds := []Kind{KernelPerf}
	if k != KernelPerf {
		kinds = append(kinds, k)
	}
	for _, k := range kinds {
		sites := []Site{{Offset: address("vfs_fallocate")}, {Offset: address("vfs_read") + 1}, {Offset: address("vfs_write")}}
		refused, err := attachTo(t, &Group{Path: "the kernel", Kernel: true, Sites: sites}, k)
		if err != nil || refused[0] != nil || refused[2] != nil {
			t.Fatalf("kind %d: %v, %v; want two functions attached", k, refused, err)
		}
		refusedWith(t, k, "within an instruction", refused[1], unix.EINVAL, unix.ENOENT, unix.EILSEQ)
	}
	t.Run("tracepoints", func(t *testing.T) {
		b, err := os.ReadFile(filepath.Join(tracing, "events/sched/sched_process_exit/id"))
		if err != nil {
			t.Fatal(err)
		}
		id, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		prog := programFor(t, Tracepoint)
		to := func(id uint64, prog *ebpf.Program) error {
			refused, err := attachTo(t, &Group{Path: "the kernel", Kernel: true, Sites: []Site{{Offset: id}}, Prog: prog}, Tracepoint)
			return errors.Join(err, refused[0])
		}
		if err := to(id, prog); err != nil {
			t.Fatal(err)
		}
		refusedWith(t, Tracepoint, "the same program", to(id, prog), unix.EEXIST)
		refusedWith(t, Tracepoint, "no such number", to(1<<20, prog), unix.EINVAL, unix.ENOENT)
		for n := 0; ; n++ {
			if err := to(id, programFor(t, Tracepoint)); err != nil {
				refusedWith(t, Tracepoint, fmt.Sprint("after ", n, " others"), err, unix.E2BIG)
				break
			}
			if n == 200 {
				t.Errorf("%d programs were attached", n)
				break
			}
		}
	})
	t.Run("trampolines", func(t *testing.T) {
		if _, err := chooseTrampolines(); err != nil {
			t.Log(err)
			return
		}
		load := func(name string) (*ebpf.Program, error) {
			prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Tracing, AttachType: AtEntry.Single(), AttachTo: name, Instructions: kernel.EmptyProgram(), License: kernel.License})
			if err == nil {
				t.Cleanup(func() { prog.Close() })
			}
			return prog, err
		}
		to := func(prog *ebpf.Program) error {
			f := &functionsOn{Functions{Module: "vmlinux", Load: func(uint32) (*ebpf.Program, error) { return prog.Clone() }, List: []Function{{ID: 1, Address: 16}}}, single{}}
			links, refused, err := f.Attach(t.Context())
			t.Cleanup(func() {
				for _, l := range links {
					if err := errors.Join(l.Close(), l.Prog.Close()); err != nil {
						t.Error(err)
					}
				}
			})
			return errors.Join(err, refused[0])
		}
		prog, err := load("bpf_fentry_test1")
		if err != nil {
			t.Fatal(err)
		}
		if err := to(prog); err != nil {
			t.Fatal(err)
		}
		refusedWith(t, TrampolineOne, "the same program", to(prog), unix.EBUSY)
		// It is not attached to: a kernel that lets a program be loaded for it might not survive that.
		if _, err := load("migrate_disable"); err != nil && !errors.Is(err, ebpf.ErrNotSupported) {
			if why := LoadRefusal(err); why == nil || !errors.Is(why, unix.EINVAL) {
				t.Errorf("migrate_disable: %v, explained by %v", err, why)
			}
		}
	})
}

// single is a kernel without links of many functions.
type single struct{ kernelCalls }

func (single) HaveMany(When) (bool, error) { return false, nil }
