package codegen

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kallsyms"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// kernelStack is what stacks of a function in the kernel have.
var kernelStack = record.Stack{Most: 64, Kernel: 64}

// attachKernel attaches the program of a signature to the system call getppid: to its function, which
// is then the first of the stack, or to its tracepoint if this kernel has no kprobes.
func attachKernel(t *testing.T, sig *query.Signature, refs *Refs) (first bool) {
	t.Helper()
	sig.Hook.Type = ebpf.Kprobe
	_, err := os.Stat("/sys/bus/event_source/devices/kprobe/type")
	if first = err == nil; !first {
		sig.Hook.Type = ebpf.TracePoint
	}
	specs, entries := Specs([]*query.Signature{sig}, refs)
	prog, err := ebpf.NewProgram(specs[0])
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { prog.Close() })
	var l link.Link
	if cookie := entries[sig].Cookie(0); first {
		function := map[string]string{"amd64": "__x64_sys_getppid", "arm64": "__arm64_sys_getppid"}[runtime.GOARCH]
		l, err = link.Kprobe(function, prog, &link.KprobeOptions{Cookie: cookie})
	} else {
		needs.Tracefs(t)
		l, err = link.Tracepoint("syscalls", "sys_enter_getppid", prog, &link.TracepointOptions{Cookie: cookie})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return first
}

// checkKernelStack checks that addresses of the kernel come first, that of getppid the very first where
// its function is attached to, and are followed by the program's.
func checkKernelStack(t *testing.T, pcs []uint64, first bool) {
	t.Helper()
	functions, err := kallsyms.Read()
	if err != nil {
		t.Fatal(err)
	}
	kernel := 0
	for kernel < len(pcs) && pcs[kernel]>>63 != 0 {
		f, offset, _ := functions.At(pcs[kernel])
		t.Logf("%s+%#x", f.Name, offset)
		kernel++
	}
	for _, pc := range pcs[kernel:] {
		if f := runtime.FuncForPC(uintptr(pc)); f != nil {
			t.Log(f.Name())
		}
		if pc>>63 != 0 {
			t.Errorf("%#x is behind addresses of the program", pc)
		}
	}
	if kernel < 1 || kernel == len(pcs) || runtime.FuncForPC(uintptr(pcs[len(pcs)-1])) == nil {
		t.Errorf("%d addresses, %d of the kernel, want callers in the kernel and then in the program", len(pcs), kernel)
		return
	}
	if f, _, _ := functions.At(pcs[0]); first && !strings.HasSuffix(f.Name, "getppid") {
		t.Errorf("the first address %#x is of %+v, want getppid", pcs[0], f)
	}
}

// TestKernelStackRecorded checks that records of functions of the kernel have both parts of the stack.
func TestKernelStackRecorded(t *testing.T) {
	needs.Root(t)
	sig := &query.Signature{Layout: record.Layout{Stack: kernelStack}}
	refs := newRefs(t)
	scratchOf(t, refs, sig)
	first := attachKernel(t, sig, refs)
	unix.Getppid()
	r, err := ringbuf.NewReader(refs.Ring)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.SetDeadline(time.Now().Add(time.Minute))
	for {
		rec, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		if record.Record(rec.RawSample).PID() != os.Getpid() {
			continue
		}
		pcs, err := kernelStack.AppendKernel(nil, rec.RawSample)
		if err != nil {
			t.Fatal(err)
		}
		if pcs, err = kernelStack.Append(pcs, rec.RawSample); err != nil {
			t.Fatal(err)
		}
		checkKernelStack(t, pcs, first)
		return
	}
}

// deeper calls f with a frame more on the stack.
//
//go:noinline
func deeper(f func()) {
	f()
	runtime.KeepAlive(f)
}

// scratchOf makes the scratch memory of a signature.
func scratchOf(t *testing.T, refs *Refs, sig *query.Signature) {
	t.Helper()
	var err error
	refs.Scratch, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: uint32(sig.ScratchSize()), MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { refs.Scratch.Close() })
}

// TestKernelStackGrouped checks that groups by stack are told apart by both parts, and that the
// stacks of groups have both.
func TestKernelStackGrouped(t *testing.T) {
	needs.Root(t)
	part := query.Part{Size: 8, In: query.Input{Source: query.InputStack, Kind: reader.Other, Size: 8}}
	sig := &query.Signature{
		Layout:    record.Layout{Stack: kernelStack},
		Aggregate: &query.Aggregate{Parts: []query.Part{part}, KeySize: 8, StackMost: kernelStack.Most},
	}
	refs := newRefs(t)
	scratchOf(t, refs, sig)
	for _, m := range []struct {
		to   **ebpf.Map
		spec ebpf.MapSpec
	}{
		{&refs.Control, ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}},
		{&refs.Zeros, ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}},
		{&refs.Other, ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}},
		{&refs.Groups[0], ebpf.MapSpec{Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: 100}},
		{&refs.Stacks[0], ebpf.MapSpec{Type: ebpf.Hash, KeySize: 8, ValueSize: uint32(query.GroupStackSize(kernelStack.Most)), MaxEntries: 100}},
	} {
		var err error
		if *m.to, err = ebpf.NewMap(&m.spec); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*m.to).Close() })
	}
	refs.Groups[1], refs.Stacks[1] = refs.Groups[0], refs.Stacks[0]
	first := attachKernel(t, sig, refs)
	for range 3 {
		unix.Getppid()
	}
	deeper(func() { deeper(func() { unix.Getppid() }) })
	found := 0
	var hash uint64
	value := make([]byte, query.GroupStackSize(kernelStack.Most))
	for all := refs.Stacks[0].Iterate(); all.Next(&hash, &value); {
		st, err := query.ReadGroupStack(value)
		if err != nil {
			t.Fatal(err)
		}
		if st.PID != os.Getpid() {
			continue
		}
		found++
		checkKernelStack(t, st.PCs, first)
	}
	if found != 2 {
		t.Errorf("%d stacks of this process, want 2", found)
	}
}
