package mangled

import (
	"cmp"
	"slices"
	"strings"
)

// The demangler reads the length of an identifier as any number of digits, but one that begins
// with 0 is 0, and what follows is something else: 00 are two closures, each without a name,
// one within the other. separated therefore writes a '_' behind such a length, which the grammar
// allows in front of any name (https://doc.rust-lang.org/rustc/symbol-mangling/v0.html), and
// moves back references, which count bytes.

// separated returns a symbol of Rust's as the demangler understands it.
func separated(symbol string) string {
	s, ok := strings.CutPrefix(symbol, "_R")
	if !ok {
		return symbol
	}
	p := v0{s: s}
	if p.path(); p.failed || !p.empty {
		return symbol
	}
	if p.at < len(s) && s[p.at] != '.' && s[p.at] != '$' {
		if p.path(); p.failed { // the crate that has instantiated it
			return symbol
		}
	}
	if edited, ok := p.edited(); ok {
		return "_R" + edited
	}
	return symbol
}

// v0 walks through a symbol and notes what must change.
type v0 struct {
	s      string
	at     int
	depth  int
	failed bool
	empty  bool // whether edits has a '_'
	edits  []v0edit
}

// v0edit is text that takes the place of n bytes at an offset.
type v0edit struct {
	at, n int
	text  string
	leads int // the offset to which a back reference leads; -1 for others
}

// maxV0Depth is how deeply parts of a symbol may lie in each other.
const maxV0Depth = 256

// next returns the next byte and goes beyond it, 0 at the end.
func (p *v0) next() byte {
	if p.failed || p.at >= len(p.s) {
		p.failed = true
		return 0
	}
	p.at++
	return p.s[p.at-1]
}

// skip goes beyond a byte if it is the next one.
func (p *v0) skip(c byte) bool {
	if !p.failed && p.at < len(p.s) && p.s[p.at] == c {
		p.at++
		return true
	}
	return false
}

// number reads a number to the base of 62. Numbers that are too large for offsets are all one
// number.
func (p *v0) number() int {
	if p.skip('_') {
		return 0
	}
	n := 0
	for !p.failed {
		c := p.next()
		switch d := strings.IndexByte(base62, c); {
		case c == '_':
			return n + 1
		case d < 0:
			p.failed = true
		default:
			n = min(n*62+d, 1<<24)
		}
	}
	return 0
}

const base62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// written returns a number to the base of 62.
func written(n int) string {
	if n == 0 {
		return "_"
	}
	b := []byte{'_'}
	for n--; ; n /= 62 {
		b = append(b, base62[n%62])
		if n < 62 {
			break
		}
	}
	slices.Reverse(b)
	return string(b)
}

// name reads an identifier without the number that tells equal ones apart.
func (p *v0) name() {
	p.skip('u')
	n := 0
	switch c := p.next(); {
	case c == '0':
		if p.at < len(p.s) && p.s[p.at] >= '0' && p.s[p.at] <= '9' {
			p.edits, p.empty = append(p.edits, v0edit{at: p.at, text: "_", leads: -1}), true
		}
	case c >= '1' && c <= '9':
		for n = int(c - '0'); p.at < len(p.s) && p.s[p.at] >= '0' && p.s[p.at] <= '9' && n < 1<<24; p.at++ {
			n = 10*n + int(p.s[p.at]-'0')
		}
	default:
		p.failed = true
	}
	p.skip('_')
	if n > len(p.s)-p.at {
		p.failed = true
		return
	}
	p.at += n
}

func (p *v0) identifier() {
	if p.skip('s') {
		p.number()
	}
	p.name()
}

// within calls f, which reads a part.
func (p *v0) within(f func()) {
	if p.depth++; p.depth > maxV0Depth {
		p.failed = true
	}
	if !p.failed {
		f()
	}
	p.depth--
}

// until calls f until an E.
func (p *v0) until(f func()) {
	for !p.failed && !p.skip('E') {
		p.within(f)
	}
}

func (p *v0) reference() {
	at := p.at
	leads := p.number()
	p.edits = append(p.edits, v0edit{at: at, n: p.at - at, leads: leads})
	p.failed = p.failed || leads >= at
}

func (p *v0) path() {
	p.within(func() {
		switch p.next() {
		case 'C':
			p.identifier()
		case 'M':
			p.implementation()
			p.typ()
		case 'X':
			p.implementation()
			p.typ()
			p.path()
		case 'Y':
			p.typ()
			p.path()
		case 'N':
			p.next()
			p.path()
			p.identifier()
		case 'I':
			p.path()
			p.until(func() {
				switch {
				case p.skip('L'):
					p.number()
				case p.skip('K'):
					p.constant()
				default:
					p.typ()
				}
			})
		case 'B':
			p.reference()
		default:
			p.failed = true
		}
	})
}

func (p *v0) implementation() {
	if p.skip('s') {
		p.number()
	}
	p.path()
}

func (p *v0) typ() {
	p.within(func() {
		switch c := p.next(); {
		case c >= 'a' && c <= 'z':
		case c == 'A':
			p.typ()
			p.constant()
		case c == 'R' || c == 'Q':
			if p.skip('L') {
				p.number()
			}
			p.typ()
		case c == 'S' || c == 'P' || c == 'O':
			p.typ()
		case c == 'T':
			p.until(p.typ)
		case c == 'F':
			p.binder()
			p.skip('U')
			if p.skip('K') && !p.skip('C') {
				p.name()
			}
			p.until(p.typ)
			p.typ()
		case c == 'D':
			p.binder()
			p.until(func() {
				p.path()
				for p.skip('p') {
					p.name()
					p.typ()
				}
			})
			if !p.skip('L') {
				p.failed = true
			}
			p.number()
		case c != 0:
			p.at--
			p.path()
		}
	})
}

func (p *v0) binder() {
	if p.skip('G') {
		p.number()
	}
}

func (p *v0) constant() {
	p.within(func() {
		switch c := p.next(); {
		case c == 'p':
		case c == 'B':
			p.reference()
		case c == 'R' || c == 'Q':
			p.constant()
		case c == 'A' || c == 'T':
			p.until(p.constant)
		case c >= 'a' && c <= 'z':
			p.skip('n')
			for !p.skip('_') && !p.failed {
				p.next()
			}
		default:
			p.failed = true
		}
	})
}

// maxRounds is how often back references are written anew: longer ones move others.
const maxRounds = 16

// edited returns the symbol with its edits. The value of a back reference, and so its length,
// depends on the lengths of the back references in front of it.
func (p *v0) edited() (symbol string, ok bool) {
	slices.SortFunc(p.edits, func(a, b v0edit) int { return cmp.Compare(a.at, b.at) })
	moved := make([]int, len(p.edits)+1) // by how much is moved what is behind so many edits
	changed := true
	for round := 0; changed && round < maxRounds; round++ {
		changed = false
		for i, e := range p.edits {
			moved[i+1] = moved[i] + len(e.text) - e.n
		}
		for i := range p.edits {
			e := &p.edits[i]
			if e.leads < 0 {
				continue
			}
			before, _ := slices.BinarySearchFunc(p.edits, e.leads, func(e v0edit, at int) int { return cmp.Compare(e.at, at) })
			if text := written(max(e.leads+moved[before], 0)); text != e.text {
				e.text, changed = text, true
			}
		}
	}
	var b strings.Builder
	at := 0
	for _, e := range p.edits {
		b.WriteString(p.s[at:e.at] + e.text)
		at = e.at + e.n
	}
	return b.String() + p.s[at:], !changed
}
