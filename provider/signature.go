package provider

import (
	"math"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"github.com/go-usdt/usdt/internal/btfgen"
	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/notes"
)

// signature is what probes with equal arguments share: the layout of the arguments in
// the block and their description in the object.
type signature struct {
	key  string         // distinguishes and orders signatures
	note string         // the argument string of the note
	typ  *btfgen.Struct // the argument block, named later; nil without arguments

	// Fields for records:
	ipv4  uintptr  // if it has or leads to a netip.Addr: the last word of an IPv4 one
	texts []uint32 // offsets of its Texts

	// Fields for probes whose arguments travel in slots:
	args      []argument
	addresses uint64 // a bit for each slot that holds an address
}

// argument is one argument's place in the block.
type argument struct {
	kind    kind
	slot    uint8 // the value or the address
	lenSlot uint8 // the length of a string or []byte
}

// maxNoteArgs is the largest number of a note's arguments that every consumer reads
// (libbpf: BPF_USDT_MAX_ARG_CNT).
const maxNoteArgs = 12

// newSignature lays out a block of slots: first the slots that the note shows, in order, then the
// hidden ones. FORMAT.md describes the block.
func newSignature(key string, names []string, kinds []kind) *signature {
	s := &signature{key: key, args: make([]argument, len(kinds))}
	slots := 0
	show := func(info kindInfo) uint8 {
		if slots > 0 {
			s.note += " "
		}
		s.note += slotOperand(info, slots)
		slots++
		return uint8(slots - 1)
	}
	for i, k := range kinds {
		a := argument{kind: k, slot: show(k.info())}
		if k.counted() {
			a.lenSlot = show(kindInfos[kindUint64])
		}
		s.args[i] = a
	}
	for i := range s.args {
		a := &s.args[i]
		if a.kind.terminated() {
			a.lenSlot = uint8(slots)
			slots++
		}
		if a.kind.terminated() || a.kind.counted() {
			s.addresses |= 1 << a.slot
		}
	}
	s.typ = slotStruct(names, s.args, slots)
	return s
}

// slotOperand returns the assembler text for the value in a slot.
func slotOperand(info kindInfo, slot int) string {
	if regs := stub.RegisterArgs[info.size]; slot < len(regs) {
		return sizePrefix(info) + stub.Register(regs[slot])
	}
	return memoryOperand(info, 8*slot)
}

// memoryOperand returns the assembler text for the value at an offset in the
// block.
func memoryOperand(info kindInfo, offset int) string {
	return sizePrefix(info) + stub.Memory(offset)
}

func sizePrefix(info kindInfo) string {
	s := strconv.Itoa(info.size) + "@"
	if info.signed {
		s = "-" + s
	}
	return s
}

// frame is what a watched Fire puts on its goroutine's stack.
type frame struct {
	stub.Block
	used    int
	strings [192]byte // copies of strings that fit
	long    *longCopy // the others
	listens bool      // whether only listeners see the frame: they take strings whole
}

// longCopy is a NUL-terminated copy of a string of which tracers ask for notes.MaxString
// bytes at most. Tracers that look for the NUL find that the string goes on.
type longCopy struct {
	_     [0]func() // without a function that compares two
	next  *longCopy
	bytes [notes.MaxString + len(goesOn) + 1]byte
}

const goesOn = "..."

var longCopies sync.Pool // of *longCopy

// put writes arguments into their slots: args points to values of the Go types that
// belong to the kinds of s.args. put keeps no pointer to the values themselves. Texts, bytes
// and addresses are left out if f is nil. The frame, of which slots are a part, must lie
// on the stack of the goroutine that calls put, and must not outlive what the values
// point to.
//
//go:noinline
func (s *signature) put(slots *[stub.Slots]uint64, f *frame, args []unsafe.Pointer) {
	for i, v := range args {
		a := s.args[i]
		slot := &slots[a.slot]
		switch a.kind {
		case kindInt64, kindUint64, kindFloat64, kindDuration:
			*slot = *(*uint64)(v)
		case kindInt8:
			*slot = uint64(*(*int8)(v))
		case kindInt16:
			*slot = uint64(*(*int16)(v))
		case kindInt32:
			*slot = uint64(*(*int32)(v))
		case kindUint8, kindBool:
			*slot = uint64(*(*uint8)(v))
		case kindUint16:
			*slot = uint64(*(*uint16)(v))
		case kindUint32, kindFloat32:
			*slot = uint64(*(*uint32)(v))
		case kindTime:
			*slot = uint64(nanoseconds(*(*time.Time)(v)))
		case kindString:
			if f != nil {
				s := *(*string)(v)
				slots[a.lenSlot] = uint64(len(s))
				f.Ptr[a.slot] = f.terminated(s)
			}
		default:
			if f != nil {
				f.text(a, v)
			}
		}
	}
}

// text writes an argument that leads to bytes, an address or a made text.
func (f *frame) text(a argument, v unsafe.Pointer) {
	switch a.kind {
	case kindBytes, kindHex, kindUTF8, kindNetIP:
		b := *(*[]byte)(v)
		if a.kind == kindNetIP {
			b = unmapped(b)
		}
		f.Slot[a.lenSlot] = uint64(len(b))
		// The caller holds b until Fire returns, longer than f is used.
		f.Ptr[a.slot] = noescape(unsafe.Pointer(unsafe.SliceData(b)))
	case kindAddr:
		b, n := (*IP)(v).of()
		f.Slot[a.lenSlot] = uint64(n)
		f.Ptr[a.slot] = f.terminated(unsafe.String(&b[0], n))
	case kindText:
		s := (*Text)(v).string()
		f.Slot[a.lenSlot] = uint64(len(s))
		f.Ptr[a.slot] = f.terminated(s)
	default: // an array, which is Fire's own copy of the argument
		f.Slot[a.lenSlot] = uint64(a.kind - kindArray)
		f.Ptr[a.slot] = noescape(v)
	}
}

// nanoseconds returns t as a notes.TimeType.
func nanoseconds(t time.Time) int64 {
	switch s := t.Unix(); {
	case t.IsZero():
		return notes.ZeroTime
	case s <= math.MinInt64/int64(time.Second):
		return notes.MinTime
	case s >= math.MaxInt64/int64(time.Second):
		return notes.MaxTime
	}
	return t.UnixNano()
}

// terminated returns the address of a copy of s with a NUL behind it, in the
// frame if it fits there.
func (f *frame) terminated(s string) unsafe.Pointer {
	n := len(s) + 1
	if n > len(f.strings)-f.used {
		return f.longer(s)
	}
	b := f.strings[f.used : f.used+n]
	b[copy(b, s)] = 0
	f.used += n
	// A pointer from the frame to the frame: they live and move together.
	return noescape(unsafe.Pointer(unsafe.SliceData(b)))
}

// longer is terminated for a string that does not fit into the frame.
//
//go:noinline
func (f *frame) longer(s string) unsafe.Pointer {
	if f.listens {
		// The caller that fires holds s until the listeners return.
		return noescape(unsafe.Pointer(unsafe.StringData(s)))
	}
	c, _ := longCopies.Get().(*longCopy)
	if c == nil {
		c = new(longCopy)
	}
	c.next, f.long = f.long, c
	n := copy(c.bytes[:notes.MaxString], s)
	if n < len(s) {
		n += copy(c.bytes[n:], goesOn)
	}
	c.bytes[n] = 0
	return unsafe.Pointer(&c.bytes)
}

// noescape returns p and hides from escape analysis that it does. The caller must
// store the result only in memory that lives no longer than p.
//
// Between the two conversions the stack must not move, since x is a number.
// Stacks move in calls that check them, and there are none: the directives keep
// the compiler from adding some for -race and -d=checkptr. An asynchronous
// preemption never moves a stack (runtime: isShrinkStackSafe).
//
//go:nosplit
//go:nocheckptr
//go:norace
func noescape(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}
