package argasm_test

import (
	"debug/elf"
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/argasm"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/reader"
)

// signed returns the bits of a number.
func signed(n int64) uint64 { return uint64(n) }

// fired are the arguments that attach/testdata/args.c fires.
var fired = map[string][]uint64{
	"ints":   {signed(-8), 200, signed(-1600), 60000, signed(-320000), 4000000000, signed(-64000000000), 0xfedcba9876543210},
	"consts": {signed(-9), math.MaxUint32, math.MaxInt64, 255},
	"memory": {signed(-20), 'b', 30},
	"global": {signed(-77), signed(-2), 4242},
	"floats": {math.Float64bits(2.5), uint64(math.Float32bits(-0.25))},
}

// TestArg reads arguments of every form that compilers make, in programs for which it wrote the
// instructions.
func TestArg(t *testing.T) {
	for _, command := range [][]string{{"gcc", "-O0"}, {"gcc", "-O2"}, {"gcc", "-O2", "-fPIC", "-pie"}, {"clang", "-O0"}, {"clang", "-O2"}, needs.I386} {
		t.Run(strings.Join(command[:min(3, len(command))], ""), func(t *testing.T) {
			path := needs.Compile(t, "../testdata/args.c", command...)
			p := tracee.Start(t, exec.Command(path))
			defer p.End()
			got := read(t, path, p.PID(), func() { p.Do("") })
			want := map[string][]uint64{}
			for name := range got {
				want[name] = fired[name][:len(got[name])] // fewer of 32 bits
				if !slices.Equal(got[name], want[name]) {
					t.Errorf("%s: got %#x, want %#x", name, got[name], want[name])
				}
			}
			if least := 4; len(got) < least {
				t.Errorf("%d probes, want at least %d", len(got), least)
			}
		})
	}
}

// read returns what programs have read of the arguments of a file's probes when fire has returned.
func read(t *testing.T, path string, pid int, fire func()) map[string][]uint64 {
	t.Helper()
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, all := map[string][]uint64{}, map[string]*ebpf.Map{}
	for p, err := range f.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		if fired[p.Name] == nil {
			continue
		}
		if all[p.Name] == nil { // a probe may have several sites, of which one fires
			all[p.Name], got[p.Name] = array(t, len(p.Arguments())), make([]uint64, len(p.Arguments()))
		}
		attachTo(t, &p, pid, program(t, all[p.Name], &p, argasm.Reader{Sleepable: true}), unix.BPF_F_SLEEPABLE)
	}
	fire()
	for name, m := range all {
		if err := m.Lookup(uint32(0), got[name]); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func array(t *testing.T, n int) *ebpf.Map {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(8 * n), MaxEntries: 1})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// program returns instructions that store the arguments of a probe in an array.
func program(t *testing.T, m *ebpf.Map, p *reader.Probe, r argasm.Reader) asm.Instructions {
	t.Helper()
	ins := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	for i := range p.Arguments() {
		arg, err := r.Arg(p, i)
		if err != nil {
			t.Fatal(err)
		}
		ins = append(ins, arg...)
		ins = append(ins, store(m, i)...)
	}
	return append(ins, asm.Mov.Imm(asm.R0, 0), asm.Return())
}

// store stores R0.
func store(m *ebpf.Map, i int) asm.Instructions {
	return asm.Instructions{asm.LoadMapValue(asm.R1, m.FD(), uint32(8*i)), asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord)}
}

func attachTo(t *testing.T, p *reader.Probe, pid int, ins asm.Instructions, flags uint32) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "arguments", Type: ebpf.Kprobe, License: "GPL", Instructions: ins, Flags: flags})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close() })
	a, err := attach.AttachProbes(prog, []reader.Probe{*p}, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{pid}}, Link: attach.PerfLink})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
}

func needPrivileges(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, os.ErrPermission) {
		needs.Skip(t, "%v", err)
	}
}

// TestFailed checks where a program goes on when it cannot read an argument, and what it has if it
// names no place.
func TestFailed(t *testing.T) {
	path := needs.Compile(t, "../testdata/args.c", "gcc", "-O2")
	process := tracee.Start(t, exec.Command(path))
	defer process.End()
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	maps := map[string]*ebpf.Map{}
	for p, err := range f.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		var r argasm.Reader
		switch p.Name {
		case "bare":
			r.Failed = "failed"
		case "consts":
			r = argasm.Reader{Context: asm.R9, Stack: -24}
		default:
			continue
		}
		p.Args = "8@1152921504606846976(%rsp)" // where nothing can be
		arg, err := r.Arg(&p, 0)
		if err != nil {
			t.Fatal(err)
		}
		m := array(t, 1)
		maps[p.Name] = m
		ins := append(asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1), asm.Mov.Reg(asm.R9, asm.R1)}, arg...)
		ins = append(ins, asm.Add.Imm(asm.R0, 5))
		if r.Failed != "" {
			ins = append(ins, asm.Ja.Label("store"), asm.Mov.Imm(asm.R0, 7).WithSymbol("failed"))
		}
		ins = append(ins, store(m, 0)[0].WithSymbol("store"), store(m, 0)[1], asm.Mov.Imm(asm.R0, 0), asm.Return())
		attachTo(t, &p, process.PID(), ins, 0)
	}
	process.Do("")
	for name, want := range map[string]uint64{"bare": 7, "consts": 5} {
		var got uint64
		if err := maps[name].Lookup(uint32(0), &got); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", name, got, err, want)
		}
	}
}

// TestRefused checks what is said of arguments that no program can read, and of registers.
func TestRefused(t *testing.T) {
	p := &reader.Probe{Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, Path: "/none"}
	p.Provider, p.Name, p.Args = "shop", "sold", "8@%xmm0 8@%fs:8 8@sym(%rip)"
	for i, want := range []string{
		`argument 0 of shop:sold (8@%xmm0): register "xmm0" is a vector register, which a BPF program cannot read`,
		"argument 1 of shop:sold (8@%fs:8): a BPF program cannot address thread-local memory (%fs:)",
		"argument 2 of shop:sold (8@sym(%rip)): open /none: no such file or directory",
		"shop:sold has no argument 3: it has 3",
	} {
		if _, err := (argasm.Reader{}).Arg(p, i); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if ins, err := argasm.Register(asm.R0, asm.R6, elf.EM_X86_64, elf.ELFCLASS64, "ah"); err != nil || len(ins) != 4 {
		t.Errorf("%v, %v", ins, err)
	}
	if _, err := argasm.Register(asm.R0, asm.R6, elf.EM_X86_64, elf.ELFCLASS64, "none"); err == nil {
		t.Error("a register that does not exist")
	}
}
