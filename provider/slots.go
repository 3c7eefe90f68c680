package provider

import (
	"unsafe"

	"github.com/go-usdt/usdt/internal/stub"
)

// frame is what a watched Fire puts on its goroutine's stack.
type frame struct {
	stub.Block
	used int
	text [192]byte // copies of strings that fit
}

// put writes v, an argument as a describes it, into its slots. The frame must
// lie on the stack of the goroutine that calls put, and must not outlive what
// v points to.
func put[T Arg](f *frame, a argument, v T) {
	f.put(a, unsafe.Pointer(&v))
}

// put is the part of the function put that does not depend on a type: v points
// to a value of the Go type that belongs to a.kind. It keeps no pointer to the
// value itself.
func (f *frame) put(a argument, v unsafe.Pointer) {
	slot := &f.Slot[a.slot]
	switch a.kind {
	case kindInt8:
		*slot = uint64(*(*int8)(v))
	case kindInt16:
		*slot = uint64(*(*int16)(v))
	case kindInt32:
		*slot = uint64(*(*int32)(v))
	case kindInt64, kindUint64, kindFloat64:
		*slot = *(*uint64)(v)
	case kindUint8, kindBool:
		*slot = uint64(*(*uint8)(v))
	case kindUint16:
		*slot = uint64(*(*uint16)(v))
	case kindUint32, kindFloat32:
		*slot = uint64(*(*uint32)(v))
	case kindString:
		s := *(*string)(v)
		f.Slot[a.lenSlot] = uint64(len(s))
		f.Ptr[a.slot] = f.terminated(s)
	case kindBytes:
		b := *(*[]byte)(v)
		f.Slot[a.lenSlot] = uint64(len(b))
		// The caller holds b until Fire returns, longer than f is used.
		f.Ptr[a.slot] = noescape(unsafe.Pointer(unsafe.SliceData(b)))
	}
}

// terminated returns the address of a copy of s with a NUL behind it, in the
// frame if it fits there.
func (f *frame) terminated(s string) unsafe.Pointer {
	n := len(s) + 1
	if n > len(f.text)-f.used {
		b := make([]byte, n)
		copy(b, s)
		return unsafe.Pointer(unsafe.SliceData(b))
	}
	b := f.text[f.used : f.used+n]
	b[copy(b, s)] = 0
	f.used += n
	// A pointer from the frame to the frame: they live and move together.
	return noescape(unsafe.Pointer(unsafe.SliceData(b)))
}

// noescape hides from escape analysis that its result is p. The caller vouches
// that the result is stored nowhere but in memory of p's lifetime or a shorter
// one.
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
