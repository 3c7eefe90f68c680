package debuginfo

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/symbols/internal/span"
)

// scope is a function, an inlined copy of one, or a block that has variables.
type scope struct {
	off    uint64 // of the entry, in the section
	tag    uint32
	parent int32 // the scope around it, -1 for none
	code   []extent
	entry  uint64 // where it begins to run
	named  bool   // whether it has variables
}

// scopes are the scopes of a unit.
type scopes struct {
	unit      *Unit
	all       []scope
	spans     *span.Table // of the innermost
	optimised bool        // whether variables move while a function runs
	prologues map[int32]uint64
}

// readScopes reads the scopes of the unit whose entries are data.
func (u *Unit) readScopes(data []byte) *scopes {
	s := &scopes{unit: u, optimised: u.shapes.moving(u.unit.enc), prologues: map[int32]uint64{}}
	var within []int32 // by depth: the scope in which children of the open entries are
	var depths []int
	limit := maxRanges
	u.entries(data, func(tag uint32) bool {
		switch tag {
		case tagSubprogram, tagInlinedSubroutine, tagLexicalBlock, tagVariable, tagFormalParameter:
			return true
		}
		return false
	}, func(e *entry) bool {
		parent := int32(-1)
		if e.depth > 0 {
			parent = within[e.depth-1]
		}
		within = append(within[:e.depth], parent)
		switch e.tag {
		case tagVariable, tagFormalParameter:
			if parent >= 0 && e.get(attrDeclaration).num == 0 {
				s.all[parent].named = true
			}
		case tagSubprogram, tagInlinedSubroutine, tagLexicalBlock:
			code := u.info.code(u.unit, e.get(attrLowPC), e.get(attrHighPC), e.get(attrRanges), &limit)
			if len(code) == 0 {
				if e.tag != tagLexicalBlock {
					within[e.depth] = -1
				}
				break
			}
			if e.tag == tagSubprogram {
				parent = -1
			}
			within[e.depth] = int32(len(s.all))
			entry := code[0].low
			if v := e.get(attrEntryPC); v.isAddress() {
				entry = u.info.address(u.unit, v)
			} else if v.form != 0 {
				entry += v.num
			}
			s.all = append(s.all, scope{off: e.off, tag: e.tag, parent: parent, code: code, entry: entry})
			depths = append(depths, e.depth)
		}
		return true
	})
	var spans []span.Span
	for i := range s.all {
		if sc := &s.all[i]; sc.named || sc.tag != tagLexicalBlock {
			for _, r := range sc.code {
				spans = append(spans, span.Span{Low: r.low, High: r.high, Rank: uint32(depths[i]), ID: uint32(i)})
			}
		}
	}
	s.spans = span.New(spans)
	return s
}

// moving reports whether variables have lists of locations: compilers that do not optimise have
// them in one place as long as a function runs, from the end of its prologue on.
func (a *abbrevs) moving(enc encoding) bool {
	for i := range a.list {
		for _, s := range a.list[i].specs {
			if s.attr != attrLocation {
				continue
			}
			switch s.form {
			case formSecOffset, formLoclistx:
				return true
			case formData4, formData8:
				if enc.version < 4 {
					return true
				}
			}
		}
	}
	return false
}

// at returns the innermost scope of the code at addr, -1 if there is none.
func (s *scopes) at(addr uint64) int32 {
	if s == nil {
		return -1
	}
	if id, ok := s.spans.Find(addr); ok {
		return int32(id)
	}
	return -1
}

// function returns the function that scope id belongs to, the one into which others were inlined
// if outermost, -1 if there is none.
func (s *scopes) function(id int32, outermost bool) int32 {
	for range maxInlined {
		if id < 0 || s.all[id].tag == tagSubprogram || s.all[id].tag == tagInlinedSubroutine && !outermost {
			return id
		}
		id = s.all[id].parent
	}
	return -1
}

// name returns the name of a function.
func (s *scopes) name(fn int32) string {
	return s.unit.info.nameAt(s.unit.unit, s.unit.shapes, s.all[fn].off).text
}

// Inlined returns where functions were inlined that match, by name and address.
func (d *Info) Inlined(match func(symbol, name string) bool) (found []Statement, err error) {
	text := int64(min(64*d.info.size()+1<<20, 1<<40))
	for n := range d.units {
		u, data, _, _, failed := d.openUnit(n)
		err = cmp.Or(err, failed)
		if u == nil {
			continue
		}
		s := u.readScopes(data)
		matches := map[*name]bool{}
		for i := range s.all {
			sc := &s.all[i]
			if sc.tag != tagInlinedSubroutine {
				continue
			}
			fn := u.name(&function{entry: uint32(sc.off - u.unit.off)})
			ok, known := matches[fn]
			if !known {
				if text -= int64(len(fn.text) + len(fn.symbol)); text < 0 {
					return found, errTexts
				}
				ok = match(fn.symbol, fn.text)
				matches[fn] = ok
			}
			if ok {
				found = append(found, Statement{Addr: sc.entry, Func: fn.text, Inlined: true})
			}
		}
	}
	slices.SortFunc(found, func(a, b Statement) int {
		return cmp.Or(strings.Compare(a.Func, b.Func), cmp.Compare(a.Addr, b.Addr))
	})
	return slices.Compact(found), err
}
