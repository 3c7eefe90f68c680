package safeelf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// ErrBudget is wrapped by the error for work that would cost more than a file of its
// size may.
var ErrBudget = errors.New("its sections overlap, repeat or unpack to too much")

// Limits on the cost of reading a file, in units of about a nanosecond or a byte.
// Files from linkers cost up to 20 for each of their bytes, because a section lies in
// the file once and is decoded once. Headers that lie cost no more.
const (
	perFile   = 8 << 20
	perByte   = 64
	maxBudget = 1 << 30
	// A file that no stranger can have written may cost what it takes: packed debugging
	// information grows to several times its size, of which each byte costs costUnpack.
	perTrusted = 256
	maxTrusted = 1 << 36
)

// Costs of bytes. Other packages add the cost of what they make of them; see
// [File.Spend].
const (
	costRead     = 1
	costUnpack   = 8 // zlib at 125 MB/s
	costSection  = 128
	costProgram  = 64
	unknownProbe = maxBudget / perByte // size in bytes beyond which no budget grows
)

// Allowance returns the cost that reading a file of size bytes may have.
func Allowance(size uint64) uint64 {
	return min(perFile+perByte*min(size, maxBudget), maxBudget)
}

// budget is the cost that may still be spent on a file.
type budget struct {
	left    atomic.Int64
	size    uint64 // of the file
	trusted atomic.Bool
}

func newBudget(size uint64) *budget {
	b := &budget{size: size}
	b.left.Store(int64(Allowance(size)))
	return b
}

// Spend subtracts cost from the file's budget. The error wraps [ErrBudget] if the
// budget has less.
func (f *File) Spend(cost uint64) error {
	if cost <= maxTrusted && f.budget.left.Add(-int64(cost)) >= 0 {
		return nil
	}
	if cost <= maxTrusted {
		f.budget.left.Add(int64(cost))
	}
	return fmt.Errorf("it takes more work than a file of %d bytes is worth: %w", f.budget.size, ErrBudget)
}

// Trust says that no stranger can have written the file: it may cost more, and what its
// sections unpack to may take space on disk.
func (f *File) Trust() {
	if b := f.budget; !b.trusted.Swap(true) {
		b.left.Add(int64(min(perFile+perTrusted*min(b.size, maxTrusted/perTrusted), maxTrusted)) - int64(Allowance(b.size)))
	}
}

// Allowance returns the cost that reading the whole file may have.
func (f *File) Allowance() uint64 { return Allowance(f.budget.size) }

// sizeOf returns the size of r in bytes, up to the size that matters to a budget.
func sizeOf(r io.ReaderAt) uint64 {
	switch r := r.(type) {
	case interface{ Size() int64 }: // package bytes, strings and io
		return uint64(max(r.Size(), 0))
	case interface{ Stat() (os.FileInfo, error) }:
		if info, err := r.Stat(); err == nil {
			return uint64(max(info.Size(), 0))
		}
	}
	var b [1]byte
	has := func(n uint64) bool { // n bytes
		got, _ := r.ReadAt(b[:], int64(n-1))
		return got == 1
	}
	if has(unknownProbe) {
		return unknownProbe
	}
	lo, hi := uint64(0), uint64(unknownProbe) // r has lo bytes, but not hi
	for lo+1 < hi {
		if mid := (lo + hi) / 2; has(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
