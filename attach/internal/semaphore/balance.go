package semaphore

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-usdt/usdt/internal/procfs"
)

// copies returns where a process has mapped the file: for each copy what its addresses
// lie above the addresses in the file. Maps of an overlay and of what is below it give a
// file two devices, so that a file of another device may be another: see [File.is].
func (f *File) copies(pid int) (biases []uint64) {
	maps, err := procfs.Maps(pid)
	if err != nil {
		return nil
	}
	return f.copiesIn(maps)
}

func (f *File) copiesIn(maps []procfs.Mapping) (biases []uint64) {
	for i := range maps {
		m := &maps[i]
		if m.Inode == f.id.Inode && (m.Dev == f.id.Dev || len(f.buildID.id) > 0) && m.Exec && m.Offset == f.code.Off&^(pageSize-1) {
			biases = append(biases, m.Start-f.code.Vaddr&^(pageSize-1))
		}
	}
	return biases
}

// lowered returns the address of the semaphore that the kernel lowers in a process that has
// mapped the file at bias: the first that is private and may be written to
// (kernel/events/uprobes.c: find_ref_ctr_vma).
func (f *File) lowered(maps []procfs.Mapping, bias uint64, c *counter) uint64 {
	for i := range maps {
		m := &maps[i]
		if m.Inode == f.id.Inode && m.Dev == f.id.Dev && m.Write && !m.Shared && c.offset >= m.Offset && c.offset-m.Offset < m.End-m.Start {
			return m.Start + c.offset - m.Offset
		}
	}
	return bias + c.address
}

// starting reports whether the kernel lowers semaphores that are not the program's.
func (f *File) starting(maps []procfs.Mapping) bool {
	for _, bias := range f.copiesIn(maps) {
		for i := range f.counters {
			if c := &f.counters[i]; f.lowered(maps, bias, c) != bias+c.address {
				return true
			}
		}
	}
	return false
}

// raiseLowered makes the semaphores that the kernel lowers what it is going to subtract.
func (f *File) raiseLowered(mem memory, maps []procfs.Mapping) error {
	for _, bias := range f.copiesIn(maps) {
		for i := range f.counters {
			c := &f.counters[i]
			n, err := f.breakpoints(mem, bias, c)
			if err == nil {
				err = f.set(mem, f.lowered(maps, bias, c), n, false)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// memory is that of a process.
type memory interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

func openMemory(pid int) (memory, error) {
	return os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
}

// balance makes the semaphores in a process what they must be.
func (f *File) balance(mem memory, copies []uint64) error {
	copies = slices.DeleteFunc(slices.Sorted(slices.Values(copies)), func(bias uint64) bool { return !f.is(mem, bias) })
	if len(copies) == 0 {
		return nil
	}
	for i := range f.counters {
		c := &f.counters[i]
		// The kernel, and others here, may come between a look at the sites and what follows from it.
		for range maxLooks {
			own, err := f.wanted(mem, copies, c)
			if err != nil {
				return err
			}
			for j, bias := range copies {
				if err := f.set(mem, bias+c.address, own[j], f.Library); err != nil {
					return err
				}
			}
			if again, err := f.wanted(mem, copies, c); err != nil || slices.Equal(own, again) {
				break
			}
		}
	}
	return nil
}

// is reports whether what is mapped is the file, and not one that has its inode's number
// elsewhere, as files on several tmpfs have.
func (f *File) is(mem memory, bias uint64) bool {
	id := make([]byte, len(f.buildID.id))
	if len(id) == 0 {
		return true
	}
	_, err := mem.ReadAt(id, int64(bias+f.buildID.address))
	return err == nil && bytes.Equal(id, f.buildID.id)
}

// maxLooks bounds the looks at sites that change all the time.
const maxLooks = 4

// wanted returns what a semaphore must be in each of the copies.
func (f *File) wanted(mem memory, copies []uint64, c *counter) (own []uint16, err error) {
	own, total := make([]uint16, len(copies)), uint16(0)
	for j, bias := range copies {
		if own[j], err = f.breakpoints(mem, bias, c); err != nil {
			return nil, err
		}
		total += own[j]
	}
	own[0] = total // the kernel lowers the first copy, for all
	return own, nil
}

// breakpoints returns how many breakpoints the sites of a semaphore have.
func (f *File) breakpoints(mem memory, bias uint64, c *counter) (n uint16, err error) {
	for _, p := range c.places {
		var b [1]byte
		if _, err := mem.ReadAt(b[:], int64(bias+p.address)); err != nil {
			return 0, fmt.Errorf("read a site: %w", err)
		}
		switch {
		case b[0] == p.original:
		case f.isBreakpoint(b[0]):
			n++
		default:
			return 0, fmt.Errorf("the site at %#x is not that of the file", bias+p.address)
		}
	}
	return n, nil
}

// isBreakpoint reports whether the first byte of an instruction is that of a breakpoint
// or of the call that takes its place.
func (f *File) isBreakpoint(b byte) bool {
	if f.machine == elf.EM_AARCH64 {
		return true // the lower bits of brk are any tracer's
	}
	// lea, before a call, is what the kernel makes of a nop of ten bytes
	return b == 0xcc || b == 0xe8 || b == 0x48
}

// set sets a semaphore to n, unless it is higher and need not be exact.
func (f *File) set(mem memory, addr uint64, n uint16, exact bool) error {
	var b [2]byte
	if _, err := mem.ReadAt(b[:], int64(addr)); err != nil {
		return fmt.Errorf("read a semaphore: %w", err)
	}
	if is := binary.NativeEndian.Uint16(b[:]); is == n || is > n && !exact {
		return nil
	}
	binary.NativeEndian.PutUint16(b[:], n)
	if _, err := mem.WriteAt(b[:], int64(addr)); err != nil {
		return fmt.Errorf("write a semaphore: %w", err)
	}
	return nil
}
