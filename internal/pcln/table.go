package pcln

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"iter"
)

// ErrFormat is wrapped by the error for bytes that are no table, or for what is not as
// the known versions of Go have it.
var ErrFormat = errors.New("not as the known versions of Go have it")

// version is a format of the table.
type version int

const (
	go12  version = iota // until Go 1.15: only ReadFunctions reads it
	go116                // Go 1.16 and 1.17: addresses are whole
	go118                // Go 1.18 and 1.19: addresses are distances from the text
	go120                // since Go 1.20: functions have the line where they begin
)

// magics are the numbers with which tables begin (internal/abi/symtab.go).
var magics = map[uint32]version{0xfffffffb: go12, 0xfffffffa: go116, 0xfffffff0: go118, 0xfffffff1: go120}

const (
	// maxName is the length in bytes of the longest name of a function or file: names
	// of generic functions contain the names of their types.
	maxName = 64 << 10
	// maxSteps is the largest number of steps that are taken through tables of values
	// for one address; each step is for an instruction or more.
	maxSteps = 1 << 21
)

// Table is the table of a program. Several goroutines may use it at once.
type Table struct {
	version version
	bo      binary.ByteOrder
	ptr     int    // size of an address in bytes
	quantum uint64 // by which addresses of instructions are divided
	text    uint64 // from which addresses count

	names, units, files, values, functions []byte
	index                                  []byte // of functions, by address; it has offsets in functions
	count                                  int    // of functions
	field                                  int    // size of a number in the index

	calls  uint64      // from which the addresses of tables of inlined calls count
	memory io.ReaderAt // what the program has at an address, which has those tables
	held   int64       // bytes of memory
}

// New returns the table in data, which it keeps.
func New(data []byte, bo binary.ByteOrder) (*Table, error) {
	if !isHeader(data, bo) {
		return nil, ErrFormat
	}
	v := magics[bo.Uint32(data)]
	t := &Table{version: v, bo: bo, quantum: uint64(data[6]), ptr: int(data[7]), field: 4}
	header := func(n int) uint64 { return t.word(from(data, uint64(8+n*t.ptr)), t.ptr) }
	first := 3 // of the offsets of tables, behind textStart
	if v <= go116 {
		first, t.field = 2, t.ptr
	}
	count := header(0)
	if v == go12 {
		t.names, t.functions, t.index = data, data, from(data, uint64(8+t.ptr))
		return t, t.setCount(count)
	}
	var offs [6]uint64
	for i := range 5 {
		offs[i] = header(first + i)
	}
	offs[5] = uint64(len(data))
	part := func(i int) []byte {
		b := from(data, offs[i])
		if end := offs[i+1]; end > offs[i] && end-offs[i] < uint64(len(b)) {
			b = b[:end-offs[i]]
		}
		return b
	}
	t.names, t.units, t.files, t.values, t.functions = part(0), part(1), part(2), part(3), part(4)
	t.index = t.functions
	return t, t.setCount(count)
}

func (t *Table) setCount(n uint64) error {
	if n > uint64(len(t.index)/t.field)/2 {
		return ErrFormat
	}
	t.count = int(n)
	return nil
}

// isHeader reports whether data begins as a table does.
func isHeader(data []byte, bo binary.ByteOrder) bool {
	if len(data) < 16 || data[4] != 0 || data[5] != 0 || data[7] != 4 && data[7] != 8 {
		return false
	}
	_, ok := magics[bo.Uint32(data)]
	return ok && (data[6] == 1 || data[6] == 2 || data[6] == 4)
}

// counts reports whether addresses in the table count from the beginning of the
// program's text: runtime.text, which is not always the beginning of .text.
func (t *Table) counts() bool { return t.version > go116 }

// from returns b from offset off on, empty if b is not so long.
func from(b []byte, off uint64) []byte { return b[min(off, uint64(len(b))):] }

// word returns the number of the given size at the start of b, or one beyond
// everything.
func (t *Table) word(b []byte, size int) uint64 {
	switch {
	case len(b) < size:
		return 1 << 63
	case size == 4:
		return uint64(t.bo.Uint32(b))
	}
	return t.bo.Uint64(b)
}

// entry returns where function i of the index begins, as the table counts.
func (t *Table) entry(i int) uint64 { return t.word(from(t.index, uint64(2*i*t.field)), t.field) }

// info returns the entry of function i of the index: runtime2.go, _func.
func (t *Table) info(i int) []byte {
	return from(t.functions, t.word(from(t.index, uint64((2*i+1)*t.field)), t.field))
}

// function is an entry of the table: runtime2.go, _func.
type function struct {
	entry                uint64 // as the table counts
	name                 uint32
	sp, file, line, unit uint32 // offsets of tables of values; index of the unit's files
	top                  bool   // whether stacks end with it
	spWrite              bool   // whether it moves the stack pointer elsewhere
	pcdata, funcdata     []byte
	steps                int // that are left; see maxSteps
}

// find returns the function that holds addr.
func (t *Table) find(addr uint64) (fn function, ok bool) {
	i, ok := t.search(addr)
	if !ok {
		return fn, false
	}
	return t.function(i)
}

// search returns the index of the function that holds addr.
func (t *Table) search(addr uint64) (i int, ok bool) {
	if t.counts() {
		if addr < t.text {
			return 0, false
		}
		addr -= t.text
	}
	lo, hi := 0, t.count
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); t.entry(mid) <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || addr >= t.entry(lo) { // the index ends with the end of the last function
		return 0, false
	}
	return lo - 1, true
}

// function returns function i of the index.
func (t *Table) function(i int) (fn function, ok bool) {
	fn.entry, fn.steps = t.entry(i), maxSteps
	info := t.info(i)
	fixed := t.field + 36 // up to the tables that follow, without startLine
	if t.version == go120 {
		fixed += 4
	}
	if len(info) < fixed {
		return fn, false
	}
	at := func(n int) uint32 { return t.bo.Uint32(info[t.field+4*n:]) }
	fn.name, fn.sp, fn.file, fn.line, fn.unit = at(0), at(3), at(4), at(5), at(7)
	npcdata, last := uint64(at(6)), info[fixed-4:fixed]
	// internal/abi.FuncFlagTopFrame and FuncFlagSPWrite, since Go 1.17.
	fn.top, fn.spWrite = last[1]&1 != 0, last[1]&2 != 0
	rest := info[fixed:]
	if npcdata > uint64(len(rest))/4 {
		return fn, false
	}
	fn.pcdata, rest = rest[:4*npcdata], rest[4*npcdata:]
	size := 4
	if t.version == go116 {
		// Pointers are aligned in memory, where the table is also aligned.
		if size = t.ptr; size == 8 && (len(t.functions)-len(rest))%8 != 0 {
			rest = from(rest, 4)
		}
	}
	fn.funcdata = rest[:min(int(last[3])*size, len(rest))]
	return fn, true
}

// value returns the value at addr, which counts as the table does, in the table of
// values at off, -1 if there is none.
func (t *Table) value(fn *function, off uint32, addr uint64) int32 {
	for end, value := range t.steps(fn, off) {
		if addr < end {
			return value
		}
	}
	return -1
}

// steps yields the values of the table at off, each with the address, as the table
// counts, before which it ends.
func (t *Table) steps(fn *function, off uint32) iter.Seq2[uint64, int32] {
	return func(yield func(uint64, int32) bool) {
		if off == 0 {
			return
		}
		p := from(t.values, uint64(off))
		pc, value := fn.entry, int32(-1)
		for first := true; ; first = false {
			change, n := binary.Uvarint(p)
			if fn.steps--; n <= 0 || change == 0 && !first || fn.steps < 0 {
				return
			}
			p = p[n:]
			more, n := binary.Uvarint(p)
			if n <= 0 || more == 0 && !first {
				return
			}
			p = p[n:]
			value += int32(change>>1) ^ -int32(change&1)
			if pc += more * t.quantum; !yield(pc, value) {
				return
			}
		}
	}
}

// text returns the string at off in b.
func text(b []byte, off uint64) string {
	b = from(b, off)
	if i := bytes.IndexByte(b[:min(len(b), maxName)], 0); i >= 0 {
		return string(b[:i])
	}
	return ""
}

// line returns the file and line of the instruction at addr, as the table counts.
func (t *Table) line(fn *function, addr uint64) (file string, line int) {
	n := t.value(fn, fn.file, addr)
	if n < 0 {
		return "", 0
	}
	if off := t.word(from(t.units, 4*(uint64(fn.unit)+uint64(n))), 4); off != 1<<32-1 {
		file = text(t.files, off)
	}
	return file, max(int(t.value(fn, fn.line, addr)), 0)
}
