package debuginfo

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
)

// Statement is code with which a line of a source file begins: in each function, inlined copy of
// one and block with variables the first, as debuggers have it.
type Statement struct {
	Line    int
	Addr    uint64
	Func    string // the function, demangled
	Inlined bool   // into another one
}

// Source is a source file.
type Source struct {
	Path       string
	Lines      []int       // that have code
	Statements []Statement // of the lines that were asked for, by line and address
}

var (
	errTexts  = errors.New("the names of files in section .debug_line are longer than those of any compiler")
	errTables = errors.New("the tables in section .debug_line overlap")
)

// Sources returns the source files that match, with the statements of their lines that line
// reports, and the paths of all others. With an error, there may be more.
func (d *Info) Sources(match func(path string) bool, line func(number int) bool) (found []*Source, others []string, err error) {
	r := sourceReader{info: d, line: line, units: map[uint32]*scopes{}, opened: map[uint32]int{}, sources: map[string]*sourceLines{}, others: map[string]bool{}}
	seen := map[uint64]bool{}
	left := d.line.size()
	r.text = int64(min(64*left+1<<20, 1<<40))
	for n := range d.units {
		u := &d.units[n]
		if u.lines == noLines || seen[u.lines] {
			continue
		}
		seen[u.lines] = true
		comp := ""
		if u.enc.version < 5 {
			comp = d.directory(n)
		}
		p, code, e, failed := d.lineProgram(u, comp, n)
		if p == nil {
			err = cmp.Or(err, failed)
			continue
		}
		if uint64(len(code.data)) > left {
			return nil, nil, errTables
		}
		left -= uint64(len(code.data))
		matches := make([]string, len(p.lines.files))
		any := false
		for i := range p.lines.files {
			name := path.Clean(p.lines.path(uint32(i + p.lines.first)))
			if r.text -= int64(len(name)); r.text < 0 {
				return nil, nil, errTexts
			}
			if match(name) {
				matches[i], any = name, true
			} else {
				r.others[name] = true
			}
		}
		if any {
			p.whole = true
			p.run(&code, e)
			err = cmp.Or(err, r.read(p, matches))
			clear(r.units)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.sources)) {
		found = append(found, r.sources[name].source(name))
	}
	return found, slices.Sorted(maps.Keys(r.others)), err
}

// directory returns the directory in which the compiler of the unit ran.
func (d *Info) directory(number int) (comp string) {
	u := &d.units[number]
	if sk := d.skeletons[number]; sk != nil {
		return d.string(u, sk.dir)
	}
	unit := &Unit{info: d, unit: u, shapes: d.shapesOf(u)}
	data := d.info.read(make([]byte, min(u.end-u.off-uint64(u.header), 64<<10)), u.off+uint64(u.header))
	unit.entries(data, func(uint32) bool { return true }, func(e *entry) bool {
		comp = d.string(u, e.get(attrCompDir))
		return false
	})
	return comp
}

// sourceReader reads the statements of one table of lines after the other.
type sourceReader struct {
	info    *Info
	line    func(number int) bool
	units   map[uint32]*scopes // of one table, nil if one cannot be read
	opened  map[uint32]int     // how often each was read: a unit has one table
	sources map[string]*sourceLines
	others  map[string]bool
	text    int64 // bytes of names that may be read
}

// sourceLines is what is known of a source file.
type sourceLines struct {
	lines      map[int]bool
	statements []Statement
}

func (s *sourceLines) source(name string) *Source {
	slices.SortFunc(s.statements, func(a, b Statement) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Addr, b.Addr), strings.Compare(a.Func, b.Func))
	})
	return &Source{Path: name, Lines: slices.Sorted(maps.Keys(s.lines)), Statements: slices.Compact(s.statements)}
}

// maxTogether is the number of rows of one address, and of rows of a prologue, that are looked at.
const maxTogether = 128

// read keeps the statements of a table of lines. names has the names of files that are asked for.
func (r *sourceReader) read(p *program, names []string) error {
	type block struct {
		name  string
		line  uint32
		unit  uint32
		scope int32
	}
	type first struct{ addr, distance uint64 } // from the function's entry
	firsts := map[block]first{}
	var failed error
	for i, row := range p.lines.rows {
		file := int64(row.file) - int64(p.lines.first)
		if p.marks[i]&isStmt == 0 || row.file == endOfSequence || row.line == 0 || file < 0 || file >= int64(len(names)) || names[file] == "" || p.hidden(i) {
			continue
		}
		of := r.sources[names[file]]
		if of == nil {
			of = &sourceLines{lines: map[int]bool{}}
			r.sources[names[file]] = of
		}
		of.lines[int(row.line)] = true
		unit, ok := r.info.index.Find(row.addr)
		if !ok || !r.line(int(row.line)) {
			continue
		}
		s, err := r.scopesOf(unit)
		failed = cmp.Or(failed, err)
		at := block{names[file], row.line, unit, -1 - int32(i)} // each by itself
		f := first{addr: row.addr}
		if id := s.at(row.addr); id >= 0 {
			at.scope, f.addr = id, s.behindPrologue(p, i, id)
			if fn := s.function(id, true); fn >= 0 {
				f.distance = f.addr - s.all[fn].entry // a part that is seldom run lies apart
			}
		}
		if old, ok := firsts[at]; !ok || f.distance < old.distance {
			firsts[at] = f
		}
	}
	for at, first := range firsts {
		st := Statement{Line: int(at.line), Addr: first.addr}
		if s := r.units[at.unit]; at.scope >= 0 {
			if fn := s.function(at.scope, false); fn >= 0 {
				st.Func, st.Inlined = s.name(fn), s.all[fn].tag == tagInlinedSubroutine
				if r.text -= int64(len(st.Func)); r.text < 0 {
					return errTexts
				}
			}
		}
		r.sources[at.name].statements = append(r.sources[at.name].statements, st)
	}
	return failed
}

// hidden reports whether another file's code begins where row i does, so that no code comes from
// it, or whether row i is only another part of the line of the row before.
func (p *program) hidden(i int) bool {
	rows := p.lines.rows
	if i > 0 && p.marks[i]&linePart != 0 && rows[i-1].file == rows[i].file && rows[i-1].line == rows[i].line {
		return true
	}
	for j := i + 1; j < min(len(rows), i+maxTogether) && rows[j].addr == rows[i].addr && rows[j-1].file != endOfSequence; j++ {
		if rows[j].file != rows[i].file && (rows[j].file == endOfSequence || p.marks[j]&isStmt != 0 && rows[j].line != 0) {
			return true
		}
	}
	return false
}

// scopesOf returns the scopes of the unit with the number, nil if it cannot be read.
func (r *sourceReader) scopesOf(number uint32) (*scopes, error) {
	if s, ok := r.units[number]; ok {
		return s, nil
	}
	r.units[number] = nil
	if r.opened[number]++; r.opened[number] > 2 {
		return nil, errTables
	}
	u, data, _, _, err := r.info.openUnit(int(number))
	if u != nil {
		r.units[number] = u.readScopes(data)
	}
	return r.units[number], err
}

// behindPrologue returns the address of row i, in scope id, or, if that lies in the prologue of a
// function, before arguments are where debugging information has them, the end of the prologue.
func (s *scopes) behindPrologue(p *program, i int, id int32) uint64 {
	addr := p.lines.rows[i].addr
	fn := s.function(id, true)
	if fn < 0 || addr < s.all[fn].code[0].low || addr >= s.all[fn].code[0].high {
		return addr
	}
	end, ok := s.prologues[fn]
	if !ok {
		end = s.prologue(p, i, s.all[fn].code[0])
		s.prologues[fn] = end
	}
	return max(addr, end)
}

// prologue returns where the prologue of a function ends, 0 if it is not known to have one. Row i
// is one of the function's.
func (s *scopes) prologue(p *program, i int, code extent) uint64 {
	n, found := slices.BinarySearch(p.starts, i)
	if !found {
		n--
	}
	if n < 0 {
		return 0
	}
	rows := p.lines.rows[p.starts[n]:]
	entry, _ := slices.BinarySearchFunc(rows[:i-p.starts[n]+1], code.low, func(r row, addr uint64) int { return cmp.Compare(r.addr, addr) })
	second := uint64(0)
	for j, r := range rows[entry:min(len(rows), entry+maxTogether)] {
		if r.file == endOfSequence || r.addr >= code.high {
			break
		}
		if p.marks[p.starts[n]+entry+j]&prologueEnd != 0 {
			return r.addr
		}
		if second == 0 && r.addr > code.low {
			second = r.addr
		}
	}
	if s.optimised {
		return 0
	}
	return second // GCC does not mark the end: unoptimised code has a row of its own there
}
