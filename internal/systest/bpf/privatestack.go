// Package bpf looks at the BPF programs and links of this process.
package bpf

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// HasPrivateStack reports whether the machine code of a program adds the address
// of this CPU's memory to the frame pointer, on x86-64: add %gs:…,%r9.
func HasPrivateStack(t testing.TB, prog *ebpf.Program) bool {
	t.Helper()
	info, err := prog.Info()
	if err != nil {
		t.Fatal(err)
	}
	code, ok := info.JitedInsns()
	if !ok {
		needs.Skip(t, "the kernel does not show the machine code of programs")
	}
	return bytes.Contains(code, []byte{0x65, 0x4c, 0x03, 0x0c, 0x25})
}

// NeedPrivateStacks skips the test if the kernel gives programs no private stack, not
// even the program large in source, which uses 200 bytes of it.
func NeedPrivateStacks(t testing.TB, source string) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	spec := ReadSpec(t, needs.CompileBPF(t, source))
	for name := range spec.Programs {
		if name != "large" {
			delete(spec.Programs, name)
		}
	}
	c, err := collection.New(t.Context(), spec, &collection.Options{PrivateStack: true})
	if missing := (*attach.PrivilegeError)(nil); errors.As(err, &missing) {
		needs.Skip(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if HasPrivateStack(t, c.Programs["large"]) {
		return
	}
	var u unix.Utsname
	var version, minor int
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &version, &minor)
	if version > 6 || version == 6 && minor >= 13 {
		t.Fatalf("Linux %d.%d has given a program of 200 bytes of stack no private one, or this test does not see it", version, minor)
	}
	needs.Skip(t, "this kernel has no private stacks")
}
