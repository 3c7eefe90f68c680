package provider

import (
	"math"
	"net/netip"
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
}

// put writes v, the argument that a describes, into its slots. The frame must lie on
// the stack of the goroutine that calls put, and must not outlive what v points to.
func put[T Arg](f *frame, a argument, v T) {
	f.put(a, unsafe.Pointer(&v))
}

// put is the part of the function put that depends on no type: v points to a value of
// the Go type that belongs to a.kind. It keeps no pointer to the value itself.
func (f *frame) put(a argument, v unsafe.Pointer) {
	slot := &f.Slot[a.slot]
	switch a.kind {
	case kindInt8:
		*slot = uint64(*(*int8)(v))
	case kindInt16:
		*slot = uint64(*(*int16)(v))
	case kindInt32:
		*slot = uint64(*(*int32)(v))
	case kindInt64, kindUint64, kindFloat64, kindDuration:
		*slot = *(*uint64)(v)
	case kindUint8, kindBool:
		*slot = uint64(*(*uint8)(v))
	case kindUint16:
		*slot = uint64(*(*uint16)(v))
	case kindUint32, kindFloat32:
		*slot = uint64(*(*uint32)(v))
	case kindString:
		f.string(a, *(*string)(v))
	case kindText:
		f.string(a, (*Text)(v).string())
	case kindBytes:
		b := *(*[]byte)(v)
		f.Slot[a.lenSlot] = uint64(len(b))
		// The caller holds b until Fire returns, longer than f is used.
		f.Ptr[a.slot] = noescape(unsafe.Pointer(unsafe.SliceData(b)))
	case kindTime:
		*slot = uint64(nanoseconds(*(*time.Time)(v)))
	case kindAddr:
		b, n := addrBytes(*(*netip.Addr)(v))
		f.Slot[a.lenSlot] = uint64(n)
		f.Ptr[a.slot] = f.bytes(b)
	}
}

func (f *frame) string(a argument, s string) {
	f.Slot[a.lenSlot] = uint64(len(s))
	f.Ptr[a.slot] = f.terminated(s)
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

// addrBytes returns the bytes of an address in network order, and their number.
func addrBytes(a netip.Addr) (b [16]byte, n int) {
	switch {
	case a.Is4():
		v4 := a.As4()
		return [16]byte(append(v4[:], b[4:]...)), 4
	case a.Is6():
		return a.As16(), 16
	}
	return b, 0
}

// bytes returns the address of a copy of b in the frame if it fits there.
func (f *frame) bytes(b [16]byte) unsafe.Pointer {
	if len(b) > len(f.strings)-f.used {
		moved := new([16]byte)
		*moved = b
		return unsafe.Pointer(moved)
	}
	p := (*[16]byte)(f.strings[f.used:])
	*p = b
	f.used += len(b)
	// A pointer from the frame to the frame, as in terminated.
	return noescape(unsafe.Pointer(p))
}

// terminated returns the address of a copy of s with a NUL behind it, in the
// frame if it fits there.
func (f *frame) terminated(s string) unsafe.Pointer {
	n := len(s) + 1
	if n > len(f.strings)-f.used {
		b := make([]byte, n)
		copy(b, s)
		return unsafe.Pointer(unsafe.SliceData(b))
	}
	b := f.strings[f.used : f.used+n]
	b[copy(b, s)] = 0
	f.used += n
	// A pointer from the frame to the frame: they live and move together.
	return noescape(unsafe.Pointer(unsafe.SliceData(b)))
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
