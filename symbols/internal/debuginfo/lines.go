package debuginfo

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
)

// Limits on the lines of a unit.
const (
	maxLineSize = 256 << 20 // bytes
	maxRows     = 1 << 21
	maxFiles    = 1 << 20
)

var errLines = errors.New("malformed table of lines")

// row says from which line the code comes that begins at an address.
type row struct {
	addr uint64
	file uint32 // endOfSequence if no code follows
	line uint32
}

const endOfSequence = ^uint32(0)

// lines is the table of lines of a unit.
type lines struct {
	rows  []row // by address
	files []file
	first int // the number of the first file
	dirs  []string
	comp  string // the directory in which the compiler ran
}

type file struct {
	dir  int // index in dirs, -1 for comp
	name string
	path atomic.Pointer[string]
}

// size returns the number of bytes of memory.
func (l *lines) size() int64 {
	n := int64(16*cap(l.rows) + 128*cap(l.files))
	for _, d := range l.dirs {
		n += int64(len(d)) + 16
	}
	return n
}

// path returns the path of the file with a number, "" if there is none.
func (l *lines) path(number uint32) string {
	i := int(number) - l.first
	if i < 0 || i >= len(l.files) {
		return ""
	}
	f := &l.files[i]
	if p := f.path.Load(); p != nil {
		return *p
	}
	path := f.name
	if path == "" || path[0] != '/' {
		dir := ""
		if f.dir >= 0 && f.dir < len(l.dirs) {
			dir = l.dirs[f.dir]
		}
		path = join(join(l.comp, dir), path)
	}
	f.path.Store(&path)
	return path
}

func join(dir, name string) string {
	switch {
	case dir == "" || name != "" && name[0] == '/':
		return name
	case name == "":
		return dir
	}
	return dir + "/" + name
}

// at returns the file's number and the line of the code at addr.
func (l *lines) at(addr uint64) (file, line uint32, ok bool) {
	if l == nil {
		return 0, 0, false
	}
	lo, hi := 0, len(l.rows)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); l.rows[mid].addr <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || l.rows[lo-1].file == endOfSequence {
		return 0, 0, false
	}
	return l.rows[lo-1].file, l.rows[lo-1].line, true
}

// readLines decodes the table of lines of the unit with the number.
func (d *Info) readLines(u *unit, comp string, number int) (*lines, error) {
	p, code, e, err := d.lineProgram(u, comp, number)
	if p == nil {
		return nil, err
	}
	// Most rows take two bytes or more.
	l := p.lines
	l.rows = make([]row, 0, min(len(code.data)/2, maxRows))
	p.run(&code, e)
	l.sort(p.starts)
	return l, nil
}

// lineProgram decodes the header of the unit's line program, and returns the program, nil if
// there is none, and its code.
func (d *Info) lineProgram(u *unit, comp string, number int) (p *program, code buffer, e encoding, err error) {
	if u.lines == noLines || u.lines >= d.line.size() {
		return nil, code, e, nil
	}
	var head [12]byte
	b := buffer{data: d.line.read(head[:], u.lines), bo: d.bo}
	all := len(b.data)
	n, offset := b.length()
	if b.failed || n > maxLineSize || n > d.line.size()-u.lines {
		return nil, code, e, errLines
	}
	b = buffer{data: d.line.read(make([]byte, n), u.lines+uint64(all-len(b.data))), bo: d.bo}
	l := &lines{comp: comp, first: 1}
	p = &program{info: d, unit: u, number: number, lines: l}
	e = encoding{version: b.u16(), offset: offset, addr: u.enc.addr}
	if e.version < 2 || e.version > 5 {
		return nil, code, e, errLines
	}
	if e.version >= 5 {
		e.addr = int(b.u8())
		b.u8() // the size of a segment's selector
	}
	size := b.uint(offset)
	code.bo = d.bo
	if size <= uint64(len(b.data)) {
		code.data, b.data = b.data[size:], b.data[:size]
	}
	p.minInst = uint64(b.u8())
	p.maxOps = 1
	if e.version >= 4 {
		p.maxOps = max(uint64(b.u8()), 1)
	}
	p.byDefault = b.u8() != 0
	p.lineBase, p.lineRange, p.opcodeBase = int64(int8(b.u8())), uint64(b.u8()), b.u8()
	if p.opcodeBase == 0 || p.lineRange == 0 {
		return nil, code, e, errLines
	}
	p.operands = b.take(uint64(p.opcodeBase - 1))
	if e.version >= 5 {
		l.first = 0
		l.dirs = names(d, u, e, &b, func(name string, _ uint64) string { return name })
		for _, f := range names(d, u, e, &b, func(name string, dir uint64) namedFile { return namedFile{name, dir} }) {
			l.files = append(l.files, file{dir: int(min(f.dir, maxFiles)), name: f.name})
		}
	} else {
		for {
			s := b.str()
			if len(s) == 0 {
				break
			}
			l.dirs = append(l.dirs, string(s))
		}
		for len(l.files) < maxFiles {
			s := b.str()
			if len(s) == 0 {
				break
			}
			p.addFile(s, &b)
		}
	}
	if b.failed {
		return nil, code, e, errLines
	}
	if l.comp == "" && e.version >= 5 && len(l.dirs) > 0 {
		l.comp = l.dirs[0]
	}
	return p, code, e, nil
}

type namedFile struct {
	name string
	dir  uint64
}

// names decodes the directories or files of a DWARF 5 table of lines.
func names[T any](d *Info, u *unit, e encoding, b *buffer, entry func(name string, dir uint64) T) []T {
	const path, directory = 1, 2 // DW_LNCT
	formats := int(b.u8())
	specs := [256]spec{}
	for i := range formats {
		specs[i] = spec{attr: uint16(min(b.uleb(), 0xffff)), form: uint16(min(b.uleb(), 0xffff))}
	}
	count := b.uleb()
	var out []T
	for range min(count, maxFiles, uint64(len(b.data))) {
		name, dir := "", uint64(0)
		for i := range formats {
			switch v := e.read(b, &specs[i]); specs[i].attr {
			case path:
				name = d.string(u, v)
			case directory:
				dir = v.num
			}
		}
		if b.failed {
			break
		}
		out = append(out, entry(name, dir))
	}
	return out
}

// sort orders the rows, whose sequences begin at the given indices, by address.
func (l *lines) sort(starts []int) {
	byAddr := func(a, b row) int { return cmp.Compare(a.addr, b.addr) }
	if slices.IsSortedFunc(l.rows, byAddr) {
		return
	}
	var sequences [][]row
	for i, start := range starts {
		end := len(l.rows)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		s := l.rows[start:end]
		if !slices.IsSortedFunc(s, byAddr) {
			slices.SortStableFunc(s, byAddr)
		}
		sequences = append(sequences, s)
	}
	slices.SortStableFunc(sequences, func(a, b []row) int { return cmp.Compare(a[0].addr, b[0].addr) })
	sequences = withoutFolded(sequences)
	l.rows = slices.Concat(sequences...)
	// Sequences that overlap, which no compiler makes.
	if !slices.IsSortedFunc(l.rows, byAddr) {
		slices.SortStableFunc(l.rows, byAddr)
	}
}

// withoutFolded leaves out sequences whose code an earlier one has: linkers keep one of several equal
// functions, and all their lines. Names are those of the first one.
func withoutFolded(sequences [][]row) [][]row {
	end := func(s []row) uint64 { return s[len(s)-1].addr }
	out := sequences[:0]
	for _, s := range sequences {
		if n := len(out); n == 0 || s[0].addr != out[n-1][0].addr || end(s) != end(out[n-1]) {
			out = append(out, s)
		}
	}
	return out
}
