package reader

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// At returns the instruction off bytes behind the function's entry as a probe, called
// NAME+0xOFF; at 0 it is [Function.Entry]. If no instruction begins there, the
// probe's SiteErr says so and names the nearest ones; it wraps [ErrBoundary] if that
// is not known. Such a probe has no arguments, because compilers move them while the
// function runs.
func (fn *Function) At(off uint64) Probe {
	if off == 0 && !fn.unbounded {
		return fn.Entry()
	}
	p := fn.probe(Uprobe)
	p.Args = ""
	p.Location += off
	p.Name = fmt.Sprintf("%s+%#x", p.Name, off)
	if len(fn.Symbols) == 0 {
		p.Name = fmt.Sprintf("%#x", p.Location)
	}
	if fn.Live != nil {
		live := *fn.Live
		live.Address += off
		p.Live = &live
	}
	if fn.file == nil {
		p.SiteErr = errNoFile
		return p
	}
	p.Offset, p.SiteErr = fn.file.code().layout.site(p.Location)
	if p.SiteErr == nil && p.Offset-fn.Offset != off {
		p.SiteErr = errors.New("the instruction is in another segment of the file than the function's entry")
	}
	if p.SiteErr == nil {
		p.SiteErr = fn.boundary(off)
	}
	return p
}

// Displacement returns how many bytes the site lies behind the entry of its
// function, 0 if it has none.
func (p *Probe) Displacement() uint64 {
	if p.Target == nil {
		return 0
	}
	return p.Location - p.Target.Address
}

// Instruction returns the instruction at an address of the file as a probe. Its
// function is the one that symbols name or, if none does, the one in the unwinding
// table (.eh_frame_hdr). See [Function.At].
func (f *File) Instruction(addr uint64) Probe {
	fn := f.functionAt(addr)
	return fn.At(addr - fn.Address)
}

// Instructions returns instructions as probes: for each object that the process has
// mapped, those at the addresses that the function addresses returns for the object's
// path. Addresses are those in the file.
func (p *Process) Instructions(addresses func(path string) []uint64) iter.Seq2[Probe, error] {
	wanted := func(path string) bool { return len(addresses(path)) > 0 }
	functions := p.functions(wanted, func(f *File, path string) iter.Seq2[Function, error] {
		return func(yield func(Function, error) bool) {
			for _, addr := range addresses(path) {
				fn := f.functionAt(addr)
				fn.asked = addr
				if !yield(fn, nil) {
					return
				}
			}
		}
	})
	return func(yield func(Probe, error) bool) {
		for fn, err := range functions {
			var probe Probe
			if err == nil {
				probe = fn.At(fn.asked - fn.Address)
			}
			if !yield(probe, err) {
				return
			}
		}
	}
}

// functionAt returns the function that holds the code at an address. If the code has no symbol
// and no unwinding table, the function is unbounded and begins there.
func (f *File) functionAt(addr uint64) Function {
	var last Function
	all := f.sorted() // read once for a thousand addresses
	if n, found := slices.BinarySearchFunc(all, addr, func(fn Function, addr uint64) int { return cmp.Compare(fn.Address, addr) }); found {
		last = all[n]
	} else if n > 0 {
		last = all[n-1]
	}
	named := last.file != nil
	if named && addr-last.Address < last.Size {
		return last
	}
	start, ok := f.code().unwindStart(addr)
	// A symbol without a size, as in assembly, reaches to the next function.
	if named && last.Size == 0 && (!ok || start <= last.Address) {
		return last
	}
	fn := Function{Address: addr, Path: f.path, file: f, unbounded: !ok}
	if ok {
		fn.Address = start
	}
	if code := f.code(); code != f {
		fn.OpenPath = code.path
	}
	fn.Offset, fn.SiteErr = f.code().layout.site(fn.Address)
	return fn
}

// allFunctions returns the functions of which something is known, by address.
func (f *File) allFunctions() (all []Function) {
	for fn, err := range f.Functions() {
		if err == nil {
			all = append(all, fn)
		}
	}
	return all
}

// unwindStart returns the greatest address ≤ addr in the unwinding table, where a
// function begins.
func (f *File) unwindStart(addr uint64) (start uint64, ok bool) {
	for _, at := range f.unwind() {
		if at <= addr && (!ok || at > start) {
			start, ok = at, true
		}
	}
	return start, ok
}

// readUnwind reads the addresses in .eh_frame_hdr.
func readUnwind(e *safeelf.File) []uint64 {
	s := e.Section(".eh_frame_hdr")
	if s == nil {
		return nil
	}
	data, err := e.Data(s, 64<<20)
	// Linux Standard Base, 10.6.2: version, encodings of a pointer, a count and
	// the table's entries, which GNU ld, gold and lld write like this.
	const (
		udata4, dataRelativeSdata4 = 0x03, 0x3b
		header, entry              = 12, 8
	)
	if err != nil || len(data) < header || data[0] != 1 || data[2] != udata4 || data[3] != dataRelativeSdata4 {
		return nil
	}
	count := min(uint64(e.ByteOrder.Uint32(data[8:])), uint64(len(data)-header)/entry)
	starts := make([]uint64, count)
	for i := range starts {
		starts[i] = s.Addr + uint64(int64(int32(e.ByteOrder.Uint32(data[header+i*entry:]))))
	}
	return starts
}
