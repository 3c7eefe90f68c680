package debuginfo

import "encoding/binary"

// abbrev is the shape of an entry.
type abbrev struct {
	code     uint64
	tag      uint32
	children bool
	fixed    int // the size of the attributes in bytes, -1 if it differs
	specs    []spec
}

// spec is an attribute of an abbrev.
type spec struct {
	attr, form uint16
	implicit   int64
}

// abbrevs are the shapes that a unit's entries may have.
type abbrevs struct {
	list   []abbrev
	dense  bool // whether that of code n is the n-1st
	byCode map[uint64]int
	size   int64 // bytes of memory
}

// maxAbbrevs is the largest number of bytes of a unit's abbreviations.
const maxAbbrevs = 4 << 20

// readAbbrevs decodes the list at the start of data. With only ≠ 0, it ends once it
// has that code. used is the number of bytes that it decoded.
func readAbbrevs(data []byte, bo binary.ByteOrder, e encoding, only uint64) (a *abbrevs, used int) {
	b := buffer{data: data[:min(len(data), maxAbbrevs)], bo: bo}
	all := len(b.data)
	a = &abbrevs{dense: true}
	for !b.failed {
		code := b.uleb()
		if code == 0 || b.failed {
			break
		}
		d := abbrev{code: code, tag: uint32(b.uleb()), children: b.u8() != 0}
		for {
			s := spec{attr: uint16(min(b.uleb(), 0xffff)), form: uint16(min(b.uleb(), 0xffff))}
			if s.form == formImplicitConst {
				s.implicit = b.sleb()
			}
			if b.failed || s.attr == 0 && s.form == 0 {
				break
			}
			if n := e.fixed(s.form); n < 0 || d.fixed < 0 {
				d.fixed = -1
			} else {
				d.fixed += n
			}
			if only == 0 || only == code {
				d.specs = append(d.specs, s)
			}
		}
		if b.failed {
			break
		}
		if only != 0 && only != code {
			continue
		}
		a.dense = a.dense && code == uint64(len(a.list)+1)
		a.list = append(a.list, d)
		a.size += 64 + int64(16*cap(d.specs))
		if only != 0 {
			break
		}
	}
	if a.dense = a.dense && only == 0; !a.dense {
		a.byCode = make(map[uint64]int, len(a.list))
		for i := range a.list {
			a.byCode[a.list[i].code] = i
		}
		a.size += int64(32 * len(a.list))
	}
	return a, all - len(b.data)
}

// of returns the shape with a code, nil if there is none.
func (a *abbrevs) of(code uint64) *abbrev {
	if a.dense {
		if code-1 < uint64(len(a.list)) {
			return &a.list[code-1]
		}
		return nil
	}
	if i, ok := a.byCode[code]; ok {
		return &a.list[i]
	}
	return nil
}
