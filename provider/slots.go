package provider

import (
	"math"
	"sync"
	"time"
	"unsafe"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/notes"
)

// frame is what a watched Fire puts on its goroutine's stack.
type frame struct {
	stub.Block
	used    int
	strings [192]byte // copies of strings that fit
	long    *longCopy // the others
	listens bool      // whether nobody but listeners sees the frame: they take strings whole
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
