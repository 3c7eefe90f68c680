package record

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Stack says what a record holds of the stack that led to the probe, behind all else:
//
//	addresses       8 each   the innermost first
//	return address  8        with Entry
//	size            8        bytes of the addresses; negative: why there are none, as the
//	                         kernel's error
//
// With Copied, it is what the addresses can be found by:
//
//	registers       Registers
//	stack           from the stack pointer on
//	size            8        bytes of both
//
// With Kernel, the kernel's part follows:
//
//	addresses       8 each   the innermost first
//	size            8        bytes of the addresses; negative: why there are none
//
// With Saved, it is the number of a stack that is kept elsewhere, 8 bytes.
//
// So records without a stack are the same as ever, and a stack is found from the end.
type Stack struct {
	// Most is the largest number of addresses; 0 for no stack.
	Most int
	// Own is how many of them are for the frames of the code that fires the probe, which
	// is not part of the program: Most − Own are the program's.
	Own int
	// Entry says that the probe is where a function may have no frame of its own, as at its
	// entry: its return address stands apart. 0 if it has one, or it could not be read.
	Entry bool
	// Returns says that a call also returns to the first address.
	Returns bool
	// Copied is the largest number of bytes of the stack that are copied, with Registers
	// bytes of registers as the kernel lays them out; 0 for addresses.
	Copied, Registers int
	// Kernel is the largest number of addresses of the kernel's own part, which precedes the
	// program's in stacks; 0 if the probe is not in the kernel.
	Kernel int
	// Saved says that the record has a number in place of the stack.
	Saved bool
}

// MaxStack is the largest number of the program's addresses: the kernel's own bound
// (include/uapi/linux/perf_event.h, PERF_MAX_STACK_DEPTH).
const MaxStack = 127

// Size returns the largest number of bytes that a record needs for the stack.
func (s *Stack) Size() int {
	kernel := 0
	if s.Kernel > 0 {
		kernel = 8*s.Kernel + 8
	}
	switch {
	case s.Most == 0:
		return 0
	case s.Saved:
		return 8
	case s.Copied > 0:
		return s.Registers + s.Copied + 8 + kernel
	case s.Entry:
		return 8*s.Most + 16 + kernel
	}
	return 8*s.Most + 8 + kernel
}

var errNoStack = errors.New("event ends within its stack")

// Append appends the addresses of the stack in a record to dst. The error says why there
// are none.
func (s *Stack) Append(dst []uint64, r Record) ([]uint64, error) {
	end, err := s.end(r)
	if err != nil {
		return dst, err
	}
	size := int64(binary.NativeEndian.Uint64(r[end:]))
	if size < 0 {
		return dst, fmt.Errorf("the kernel could not read the stack: %w", errno(-size))
	}
	caller := uint64(0)
	if s.Entry {
		if end -= 8; end < HeaderSize {
			return dst, errNoStack
		}
		caller = binary.NativeEndian.Uint64(r[end:])
	}
	if size%8 != 0 || size > int64(end-HeaderSize) {
		return dst, errNoStack
	}
	before := len(dst)
	dst = AppendAddresses(dst, r[end-int(size):end], caller)
	return dst[:min(len(dst), before+s.Most)], nil
}

// end returns where the size of the program's part stands.
func (s *Stack) end(r Record) (int, error) {
	end := len(r)
	if s.Kernel > 0 {
		part, err := s.kernelPart(r)
		if err != nil {
			return 0, err
		}
		end -= len(part) + 8
	}
	if end -= 8; end < HeaderSize {
		return 0, errNoStack
	}
	return end, nil
}

// kernelPart returns the addresses of the kernel's part.
func (s *Stack) kernelPart(r Record) ([]byte, error) {
	end := len(r) - 8
	if end < HeaderSize {
		return nil, errNoStack
	}
	size := max(int64(binary.NativeEndian.Uint64(r[end:])), 0)
	if size%8 != 0 || size > int64(min(end-HeaderSize, 8*s.Kernel)) {
		return nil, errNoStack
	}
	return r[end-int(size) : end], nil
}

// AppendKernel appends the addresses of the kernel's part to dst, if there is one. The error says why
// there are none.
func (s *Stack) AppendKernel(dst []uint64, r Record) ([]uint64, error) {
	if s.Kernel == 0 {
		return dst, nil
	}
	part, err := s.kernelPart(r)
	if err != nil {
		return dst, err
	}
	if size := int64(binary.NativeEndian.Uint64(r[len(r)-8:])); size < 0 {
		return dst, fmt.Errorf("the kernel could not read its own part of the stack: %w", errno(-size))
	}
	return AppendAddresses(dst, part, 0), nil
}

// CallerAlone is set in a caller's address that the kernel does not find: no address of the
// program has it.
const CallerAlone = 1 << 63

// AppendAddresses appends the addresses of a stack to dst. caller is the return address at a
// function's entry, 0 for none. If CallerAlone is not set, the kernel may also have found it;
// then one of two equal addresses in a recursion is missing.
func AppendAddresses(dst []uint64, addresses []byte, caller uint64) []uint64 {
	alone := caller&CallerAlone != 0
	caller &^= CallerAlone
	for i := 0; i < len(addresses); i += 8 {
		address := binary.NativeEndian.Uint64(addresses[i:])
		// Linux 6.11 and later, and releases of 6.1, find the return address themselves at some entries
		// (arch/x86/events/core.c, is_uprobe_at_func_entry).
		if i == 8 && caller != 0 && (alone || address != caller) {
			dst = append(dst, caller)
		}
		dst = append(dst, address)
	}
	if len(addresses) == 8 && caller != 0 {
		dst = append(dst, caller)
	}
	return dst
}

// Copy returns the registers and the piece of the stack in a record.
func (s *Stack) Copy(r Record) (registers, stack []byte, err error) {
	end, err := s.end(r)
	if err != nil {
		return nil, nil, err
	}
	size := binary.NativeEndian.Uint64(r[end:])
	if size < uint64(s.Registers) || size > uint64(end-HeaderSize) {
		return nil, nil, errNoStack
	}
	b := r[end-int(size) : end]
	return b[:s.Registers], b[s.Registers:], nil
}

// Start returns where the stack begins in a record, which it ends.
func (s *Stack) Start(r Record) (int, error) {
	end, err := s.end(r)
	if err != nil {
		return 0, err
	}
	size := int64(binary.NativeEndian.Uint64(r[end:]))
	if s.Copied == 0 {
		size = max(size, 0) // the kernel's error
	}
	if s.Entry && s.Copied == 0 {
		end -= 8
	}
	if size < 0 || size > int64(end-HeaderSize) {
		return 0, errNoStack
	}
	return end - int(size), nil
}

// Number returns the number of the stack of a record, if Saved.
func (s *Stack) Number(r Record) uint64 { return binary.NativeEndian.Uint64(r[len(r)-8:]) }

// SetNumber sets the number of the stack of a record, if Saved.
func (s *Stack) SetNumber(r Record, number uint64) {
	binary.NativeEndian.PutUint64(r[len(r)-8:], number)
}

// AppendStack appends the stack to a record that is made in Go.
func AppendStack(rec []byte, addresses []uintptr) []byte {
	for _, a := range addresses {
		rec = binary.NativeEndian.AppendUint64(rec, uint64(a))
	}
	return binary.NativeEndian.AppendUint64(rec, uint64(8*len(addresses)))
}
