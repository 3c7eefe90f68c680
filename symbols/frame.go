package symbols

import (
	"fmt"
	"path"
	"strings"
)

// Frame is a function that runs at an address. Where functions are inlined, several
// run at one address.
type Frame struct {
	// Address is the address that was asked for, 0 if a build-id and an offset were.
	Address uint64
	// Func is the function's name as its source has it: demangled, with the types of
	// parameters, if the language is C++ or Rust. A stub that jumps to a function of
	// another object has that function's name, followed by "@plt". Func is empty if
	// unknown.
	Func string
	// Symbol is the symbol from which Func was made, empty if it equals Func or is not known.
	Symbol string
	// File and Line say where in the source the code of the address is. In a frame
	// into which the one before is inlined, they say where the call is. They are empty
	// and 0 if unknown.
	File string
	Line int
	// Inlined says that Func is inlined into the function of the next frame.
	Inlined bool
	// Module is the path of the file with the code, as the process has it mapped, or
	// what stands for it: "[vdso]", "[jit]" for code that the process has generated,
	// or the kernel's name for other memory. It is empty if nothing is mapped there. Code of
	// the kernel has "[kernel]", or its module in such brackets.
	Module string
	// BuildID is the module's GNU build-id in hexadecimal, empty if it has none.
	BuildID string
	// Offset is the address's offset in the module's file or, in memory that
	// belongs to no file, its distance from where the mapping begins. Code of the kernel has
	// its distance from where the function begins.
	Offset uint64
}

// Name returns the name of the function or, if it is unknown, what stands for it: the file and the
// offset, as in "[libfoo.so+0x1129]", "[kernel]", or "[unknown]".
func (f *Frame) Name() string {
	switch {
	case f.Func != "":
		return f.Func
	case f.Module != "" && f.Kernel():
		return f.Module
	case f.Module != "":
		return fmt.Sprintf("[%s+%#x]", path.Base(f.Module), f.Offset)
	}
	return "[unknown]"
}

// Kernel reports whether the address is one of the kernel's code, and not of a process's: kernels
// have the upper half of all addresses.
func (f *Frame) Kernel() bool { return f.Address>>63 != 0 }

// String returns the frame as text: the name, and the file and line, or the module and
// the offset in it.
//
//	main.handle (/src/shop/server.go:42)
//	malloc (libc.so.6+0x9d0a4)
//	[unknown] (libfoo.so+0x1129)
//	vfs_read+0x2c [kernel]
func (f Frame) String() string {
	var b strings.Builder
	b.WriteString(f.Func)
	if f.Func == "" {
		b.WriteString("[unknown]")
	}
	if f.Inlined {
		b.WriteString(" [inlined]")
	}
	switch {
	case f.Kernel() && f.Module != "":
		if f.Func != "" {
			fmt.Fprintf(&b, "+%#x", f.Offset)
		}
		b.WriteString(" " + f.Module)
	case f.File != "":
		fmt.Fprintf(&b, " (%s:%d)", f.File, f.Line)
	case f.Module != "":
		fmt.Fprintf(&b, " (%s+%#x)", path.Base(f.Module), f.Offset)
	case f.Func == "":
		fmt.Fprintf(&b, " (%#x)", f.Address)
	}
	return b.String()
}
