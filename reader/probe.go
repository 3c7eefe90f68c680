package reader

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"os"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/held"
	"github.com/go-usdt/usdt/notes"
)

// Probe is one probe site of one object.
type Probe struct {
	// Note is the site's note as the object holds it.
	notes.Note

	// Path is the object's path: the one by which it was opened or, in a live
	// process, the one in the process's maps, without " (deleted)".
	Path string
	// OpenPath is a path by which this host can open the object now, if Path is not
	// one: for a file in another mount namespace, a memfd, a deleted file, or the
	// binary if Path is a file of debug symbols.
	OpenPath string
	// BuildID is the object's GNU build-id in hexadecimal, or empty.
	BuildID string

	Machine   elf.Machine
	Class     elf.Class
	ByteOrder binary.ByteOrder

	// Delta is what prelink has added to the file's addresses since the note was
	// written: Location+Delta is the site's address in the file.
	Delta uint64

	// Offset is the site's offset in the file, where a uprobe goes.
	Offset uint64
	// SiteErr says why no uprobe can be at the site, nil if one can.
	SiteErr error
	// SemaphoreOffset is the semaphore's offset in the file, which the kernel
	// calls ref_ctr_offset; 0 without a semaphore.
	SemaphoreOffset uint64
	// SemaphoreErr says why the kernel cannot keep count in the semaphore, nil
	// if it can. It wraps one of the package's errors.
	SemaphoreErr error

	// Type describes named and typed arguments, nil if the object has none
	// for this probe.
	Type *Type

	// Live says where a live process has the probe, nil if it was read from a file.
	Live *Live

	// Kind is USDT except for the probes that [Function.Entry], [Function.At] and
	// [Function.Return] make, whose function is Target, and the kernel's: their Provider
	// is the module ("vmlinux" for the kernel itself), Location the address, and Path is empty.
	// The Provider of a Tracepoint is its system, and Location its number.
	Kind   ProbeKind
	Target *Function
	// Kernel says what the kernel's types have of its function, or which fields a Tracepoint has, nil
	// for other kinds.
	Kernel *KernelFunction
	// Source is the source code that was asked for, nil for other sites.
	Source *Source
	// Casts has the parts of arguments that a tracer was told the types of.
	Casts []Variable
	// AtRET says, of Kind Uretprobe, that the site is one of the function's return
	// instructions. Otherwise it is the entry, where the kernel replaces return addresses.
	AtRET bool

	file *File // for what is read on demand
}

// Source is the source code whose first instruction is at a site: a line, or a function that was
// inlined.
type Source struct {
	Line    string // FILE:LINE, "" for a function
	Func    string // the function that has the line, or the function itself
	Inlined bool   // whether Func was inlined into another function
	// Variables are those in scope, the innermost first, with members of structures, also
	// behind one pointer, as NAME.MEMBER.
	Variables []Variable
	Err       error // why variables are missing, nil if none are
}

// NamedValue is a name of a number: an enumerator, or a constant of Go.
type NamedValue struct {
	Name  string
	Value int64
}

// Variable is a variable of the traced program at a site, or a part of one.
type Variable struct {
	Name, Type string
	Argument   bool      // of the function, or a part of one
	Global     bool      // of the whole unit
	Behind     bool      // a pointer
	Kind       FieldKind // Uint, Int, Bool, Float or String
	Size       int       // bytes; of a String, its address's
	Length     string    // the variable with the length of a String, "" for text up to a NUL
	Err        error     // why there is no value, nil if there is one
	// Count is the number of elements, Stride bytes each, of an array, whose Kind they have, and for a
	// String the number of bytes that the value itself has, up to a NUL. 0 for other values.
	Count, Stride int
	Named         []NamedValue // what its values are called, of an enumeration, of constants of Go or of types in an interface

	// Interface says that the value is the first word of an interface of Go, with Relative minus the
	// distance from the addresses of the file to those where it is loaded.
	Interface, Relative bool
	// Held is where the value is if it is in what an interface holds, nil if it is not. The places below
	// say nothing then.
	Held *held.Place

	// The value is Offset or, with a register, the sum of the two; in Memory, that is its
	// address, and without a register an address in the file. With Follow, an address is
	// there instead, and the value at that address plus FollowOffset.
	Register       int // its number in DWARF, -1 for none
	Offset         int64
	Memory, Follow bool
	FollowOffset   int64
	Bit            int // of the register, with which the value begins
	// Bits is how many bits of the Size bytes a bit field has, above BitsAbove others; 0 for other values.
	Bits, BitsAbove int
}

// Of returns the instruction p as the first one of source code: called like that, and without
// arguments.
func (p *Probe) Of(s *Source) Probe {
	out := *p
	out.Name, out.Source, out.Args = cmp.Or(s.Line, s.Func), s, ""
	return out
}

// Arguments decodes Note.Args, or where a function of the kernel has its arguments, anew on each call.
func (p *Probe) Arguments() []notes.Arg {
	return notes.ParseArgs(notes.Machine(p.Machine), notes.Class(p.Class), p.ArgsText())
}

// ArgsText returns Note.Args, for a function of the kernel the arguments by its types.
func (p *Probe) ArgsText() string {
	if p.Args == "" && p.Kernel != nil {
		return p.Kernel.Types().Args
	}
	return p.Args
}

// Live is a probe's place in a process.
type Live struct {
	PID              int
	Address          uint64 // run-time address of the site
	SemaphoreAddress uint64 // run-time address of the semaphore, 0 without one
}

// Attachable returns the path by which the kernel attaches to this probe's object.
func (p *Probe) Attachable() string {
	if p.OpenPath != "" {
		return p.OpenPath
	}
	return p.Path
}

// IsIn reports whether info describes the file with the probe's code: a path may lead
// to another file by now. It returns true if that is not known, because the probe
// does not come from a file of this host.
func (p *Probe) IsIn(info os.FileInfo) bool {
	if p.file == nil {
		return true
	}
	f := p.file.code()
	return f.info == nil || os.SameFile(f.info, info)
}

// Type is what an object's .stapsdt.types and .BTF sections say about a probe.
type Type struct {
	// Struct describes the argument block, hidden members included.
	Struct *btf.Struct
	// Fields are the named arguments, in order; hidden members are left out.
	Fields []Field
	// Record is the probe's entry of .stapsdt.types.
	Record notes.TypeRecord
}

// FieldKind says how to read a Field.
type FieldKind uint8

const (
	Uint   FieldKind = iota + 1 // unsigned integer of Size bytes
	Int                         // signed integer of Size bytes
	Bool                        // one byte, 0 or 1
	Float                       // IEEE 754 number of Size bytes
	String                      // pointer at Offset to LenOffset's count of bytes of text
	Bytes                       // pointer at Offset to LenOffset's count of bytes
	Other                       // struct, array, pointer …: see Type
)

// Field is a named, typed argument.
type Field struct {
	Name  string
	CType string // as a C declaration would name it, e.g. "unsigned int", "char *"
	Kind  FieldKind
	// Meaning is what the typedefs of FORMAT.md say about the value.
	Meaning Meaning
	Offset  uint32 // bytes from the start of the argument block
	Size    uint32 // bytes
	// LenOffset is the offset in the block of an unsigned 64-bit integer: the length
	// in bytes of a String or Bytes, or the number of elements to which an Other
	// points. 0 means that there is none.
	LenOffset uint32
	Type      btf.Type
}
