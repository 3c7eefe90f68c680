package symbols

import (
	"debug/elf"
	"io"

	"github.com/go-usdt/usdt/internal/pcln"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/symbols/internal/cfi"
)

// Callers knows where functions of an ELF file keep their return addresses.
type Callers struct {
	golang *pcln.Table
	cfi    *cfi.Table
	link   bool // whether calls leave the return address in a register
}

// Caller is where a function has its return address at an instruction, so far above the
// stack pointer. Frame pointers do not lead there while the frame pointer is the caller's.
type Caller struct {
	Link bool  // the return address is in the link register
	At   int64 // distance of the return address otherwise
	// Saves says that the caller's frame pointer is on the stack, at SaveAt. The function
	// has a frame, to which frame pointers lead, if the frame pointer has that address.
	Saves  bool
	SaveAt int64
}

// NewCallers reads the tables of a file from which this is known: .eh_frame and
// .debug_frame, and .gopclntab for functions of Go.
func NewCallers(r io.ReaderAt) (*Callers, error) {
	e, err := safeelf.NewFile(r)
	if err != nil {
		return nil, err
	}
	c := &Callers{link: e.Machine == elf.EM_AARCH64}
	c.golang, _ = pcln.Read(e)
	if c.cfi, err = cfi.Read(e); c.golang != nil {
		return c, nil
	}
	return c, err
}

// At returns where the return address is at the instruction at addr, as the file counts
// addresses. ok is false if the stack pointer does not lead there, or no table covers
// addr.
func (c *Callers) At(addr uint64) (caller Caller, ok bool) {
	if c.golang != nil {
		if size, top, away, ok := c.golang.FrameSize(addr); ok || away {
			return c.ofGo(int64(size)), ok && !top
		}
	}
	if c.cfi == nil {
		return caller, false
	}
	row := c.cfi.Row(addr)
	if row == nil {
		return caller, false
	}
	ret, ok := row.Return(c.cfi.Machine())
	return Caller(ret), ok
}

// ofGo returns where a function of Go with a frame of this size has its return address: see
// [unwinder.byFrameSize].
func (c *Callers) ofGo(size int64) Caller {
	switch {
	case c.link && size == 0:
		return Caller{Link: true}
	case c.link:
		return Caller{Saves: true, SaveAt: -8}
	case size < 8:
		return Caller{At: size}
	}
	return Caller{At: size, Saves: true, SaveAt: size - 8}
}
