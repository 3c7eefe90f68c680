package link

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/kallsyms"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// kernelFunctions are the functions of the running kernel that have types.
type kernelFunctions struct {
	ids       map[string]uint32
	addresses map[uint32]uint64 // where ftrace patches them, if it does
	unpatched []uint32
}

// readFunctions joins the kernel's types with where it is patched.
func readFunctions(t *testing.T) *kernelFunctions {
	t.Helper()
	types, err := btf.LoadKernelSpec()
	if err != nil {
		t.Fatal(err)
	}
	table, err := kallsyms.Read()
	if err != nil {
		t.Fatal(err)
	}
	sites, err := os.ReadFile(filepath.Join(needs.Tracefs(t), "available_filter_functions_addrs"))
	if err != nil {
		t.Fatal(err)
	}
	patched := map[uint64]uint64{} // by where functions begin
	for line := bufio.NewScanner(bytes.NewReader(sites)); line.Scan(); {
		var at uint64
		if _, err := fmt.Sscanf(line.Text(), "%x", &at); err != nil {
			t.Fatal(err)
		}
		if f, offset, ok := table.At(at); ok && offset < near {
			patched[f.Address] = at
		}
	}
	first := map[string]uint64{} // of each name
	for f := range table.All() {
		if _, known := first[f.Name]; !known {
			first[f.Name] = f.Address
		}
	}
	k := &kernelFunctions{ids: map[string]uint32{}, addresses: map[uint32]uint64{}}
	for typ, err := range types.All() {
		if err != nil {
			t.Fatal(err)
		}
		fn, ok := typ.(*btf.Func)
		if !ok {
			continue
		}
		id, err := types.TypeID(fn)
		if err != nil {
			t.Fatal(err)
		}
		at := patched[first[fn.Name]]
		if k.ids[fn.Name] = uint32(id); at == 0 {
			k.unpatched = append(k.unpatched, uint32(id))
		} else {
			k.addresses[uint32(id)] = at
		}
	}
	return k
}

// functions returns functions by their names. Cookies are ids.
func (k *kernelFunctions) functions(w When, calls *ebpf.Map, names ...string) *functionsOn {
	f := &functionsOn{Functions{Module: "vmlinux", When: w, Unpatched: func() []uint32 { return k.unpatched }}, kernelCalls{}}
	byID := map[uint32]string{}
	for _, name := range names {
		id := k.ids[name]
		byID[id] = name
		f.List = append(f.List, Function{ID: id, Address: k.addresses[id], Cookie: uint64(id)})
	}
	f.Load = func(id uint32) (*ebpf.Program, error) {
		spec := counting(calls)
		if spec.AttachType = w.Many(); id != 0 {
			spec.AttachType, spec.AttachTo = w.Single(), byID[id]
		}
		return ebpf.NewProgram(spec)
	}
	return f
}

// counting returns a program that counts calls of this process by the cookie of its link.
func counting(calls *ebpf.Map) *ebpf.ProgramSpec {
	return &ebpf.ProgramSpec{
		Type: ebpf.Tracing, License: kernel.License,
		Instructions: asm.Instructions{
			asm.Mov.Reg(asm.R6, asm.R1),
			asm.FnGetCurrentPidTgid.Call(),
			asm.RSh.Imm(asm.R0, 32),
			asm.JNE.Imm(asm.R0, int32(os.Getpid()), "exit"),
			asm.Mov.Reg(asm.R1, asm.R6),
			asm.FnGetAttachCookie.Call(),
			asm.StoreMem(asm.R10, -8, asm.R0, asm.DWord),
			asm.LoadMapPtr(asm.R1, calls.FD()),
			asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -8),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "exit"),
			asm.Mov.Imm(asm.R1, 1),
			asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
			asm.Return(),
		},
	}
}

// countsOf returns a map with a zero for each cookie.
func countsOf(t *testing.T, k *kernelFunctions, names []string) *ebpf.Map {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: uint32(len(names))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	for _, name := range names {
		if err := m.Put(uint64(k.ids[name]), uint64(0)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestKernelFunctions checks that calls of functions are counted at their entry and at their
// return, by links of many functions or of one, and that refused functions are named.
func TestKernelFunctions(t *testing.T) {
	needs.Root(t)
	if many, err := (kernelCalls{}).HaveMany(AtEntry); err != nil {
		t.Fatal(err)
	} else if !many {
		t.Run("refused", testFunctionsLacking)
		return
	}
	k := readFunctions(t)
	names := []string{"do_exit", "__x64_sys_getppid", "__x64_sys_getpgid", "migrate_disable", "vfs_read", "__x64_sys_umask", "__rcu_read_lock"}
	for _, w := range []When{AtEntry, AtReturn} {
		t.Run(w.String(), func(t *testing.T) {
			names := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				_, ok := k.addresses[k.ids[name]]
				if !ok {
					t.Logf("%s, id %d, is not patched", name, k.ids[name])
				}
				return !ok
			})
			calls := countsOf(t, k, names)
			links, refused, err := k.functions(w, calls, names...).Attach(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				unix.Getpgid(0)
				unix.Umask(unix.Umask(0))
			}
			for _, l := range links {
				if err := errors.Join(l.Close(), l.Prog.Close()); err != nil {
					t.Error(err)
				}
			}
			unix.Getpgid(0) // and is not counted
			for i, name := range names {
				var got uint64
				if err := calls.Lookup(uint64(k.ids[name]), &got); err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %d calls, refused: %v", name, got, refused[i])
				switch want := map[string]uint64{"__x64_sys_getpgid": 100, "__x64_sys_umask": 200}[name]; {
				case name == "migrate_disable" || name == "__rcu_read_lock" || name == "do_exit" && w != AtEntry:
					if !errors.Is(refused[i], unix.EINVAL) {
						t.Errorf("%s: %v, want it refused", name, refused[i])
					}
				case refused[i] != nil:
					t.Errorf("%s: %v", name, refused[i])
				case want > 0 && got != want:
					t.Errorf("%s: %d calls, want %d", name, got, want)
				}
			}
		})
	}
	t.Run("aliases", func(t *testing.T) { testFunctionAliases(t, k) })
}

// testFunctionsLacking checks what kernels without links of many functions say.
func testFunctionsLacking(t *testing.T) {
	k := &kernelFunctions{ids: map[string]uint32{"bpf_fentry_test1": 1}, addresses: map[uint32]uint64{1: 16}}
	calls := countsOf(t, k, []string{"bpf_fentry_test1"})
	links, refused, err := k.functions(AtEntry, calls, "bpf_fentry_test1").Attach(t.Context())
	if errors.Is(err, os.ErrPermission) && len(links) == 0 {
		return // the machine forbids its root to trace functions
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := refused[0]; err != nil {
		if !errors.Is(err, enotsupp) || len(links) > 0 { // it has no trampolines at all
			t.Errorf("%d links, refused: %v", len(links), err)
		}
		return
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Tracing, AttachType: ebpf.AttachTraceFEntry, AttachTo: "bpf_fentry_test1", Instructions: kernel.EmptyProgram(), License: kernel.License})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	if _, err := prog.Run(&ebpf.RunOptions{}); err != nil { // which calls the functions for tests
		t.Fatal(err)
	}
	var got uint64
	if err := calls.Lookup(uint64(1), &got); err != nil || got != 1 {
		t.Errorf("%d calls of %v, want 1: %v", got, links, err)
	}
	for _, l := range links {
		if err := errors.Join(l.Close(), l.Prog.Close()); err != nil {
			t.Error(err)
		}
	}
}

// testFunctionAliases attaches to all functions that have several names, and calls one: a link that
// had two names would panic the kernel.
func testFunctionAliases(t *testing.T, k *kernelFunctions) {
	byAddress := map[uint64][]string{}
	for name, id := range k.ids {
		if at := k.addresses[id]; at != 0 {
			byAddress[at] = append(byAddress[at], name)
		}
	}
	var names []string
	for _, aliases := range byAddress {
		if len(aliases) > 1 {
			names = append(names, aliases...)
			t.Logf("at one address: %s", strings.Join(aliases, " "))
		}
	}
	if len(names) == 0 {
		t.Fatal("no functions have several names, so nothing is checked")
	}
	calls := countsOf(t, k, names)
	f := k.functions(AtEntry, calls, names...)
	links, refused, err := f.Attach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	attached := map[uint64]int{}
	for i, err := range refused {
		var alias *AliasError
		switch {
		case err == nil:
			attached[f.List[i].Address]++
		case !errors.As(err, &alias):
			t.Logf("%s: %v", names[i], err)
		}
	}
	t.Logf("%d names, %d functions attached to, %d links", len(names), len(attached), len(links))
	for at, n := range attached {
		if n != 1 {
			t.Errorf("%d names of the function at %#x are attached to", n, at)
		}
	}
	unix.Munlockall()
	for _, l := range links {
		if err := errors.Join(l.Close(), l.Prog.Close()); err != nil {
			t.Error(err)
		}
	}
	for range 1000 {
		if err := unix.Munlockall(); err != nil {
			t.Fatal(err)
		}
	}
}
