package tracefile

import (
	"encoding/binary"
	"math"

	"github.com/go-usdt/usdt/symbols"
)

// calls has the entries of a generation, for the reader. Chunks that are damaged are missing:
// so are the entries that refer to theirs.
type calls struct {
	generation uint32
	texts      map[uint32]string
	places     map[uint32]*place
	stacks     map[uint32]*Stack
	size       int
}

// place is an address, and what runs there.
type place struct {
	pc    uint64
	names []symbols.Frame
}

// add adds the entries of a chunk. It reports whether all of them are what they should be.
func (c *calls) add(payload []byte) bool {
	if len(payload) < callsHeader {
		return false
	}
	var head [4]uint32
	for i := range head {
		head[i] = binary.LittleEndian.Uint32(payload[4*i:])
	}
	if head[0] != c.generation || c.texts == nil {
		*c = calls{generation: head[0], texts: map[uint32]string{}, places: map[uint32]*place{}, stacks: map[uint32]*Stack{}}
	}
	r := entries{rest: payload[callsHeader:], ok: true}
	for len(r.rest) > 0 && r.ok {
		kind := r.rest[0]
		r.rest = r.rest[1:]
		switch kind {
		case entryText:
			c.addText(&r, head[1])
			head[1]++
		case entryPlace:
			c.addPlace(&r, head[2])
			head[2]++
		case entryStack:
			c.addStack(&r, head[3])
			head[3]++
		default:
			return false
		}
	}
	return r.ok
}

// room counts what an entry costs. It reports whether there is room for it.
func (c *calls) room(r *entries, cost int) bool {
	if r.ok = r.ok && cost <= maxGeneration-c.size; r.ok {
		c.size += cost
	}
	return r.ok
}

func (c *calls) addText(r *entries, number uint32) {
	n := r.number(maxText)
	if r.ok = r.ok && n <= uint64(len(r.rest)); !r.ok || !c.room(r, textCost(int(n))) {
		return
	}
	c.texts[number] = string(r.rest[:n])
	r.rest = r.rest[n:]
}

// text reads the number of a text. whole becomes false if that one is missing.
func (c *calls) text(r *entries, whole *bool) string {
	n := uint32(r.number(math.MaxUint32))
	s, ok := c.texts[n]
	*whole = *whole && (ok || n == 0)
	return s
}

func (c *calls) addPlace(r *entries, number uint32) {
	whole := true
	f := symbols.Frame{Address: r.number(math.MaxUint64), Module: c.text(r, &whole), BuildID: c.text(r, &whole), Offset: r.number(math.MaxUint64)}
	n := int(r.number(maxFrames))
	if !c.room(r, placeCost(n)) || n > len(r.rest) {
		r.ok = false
		return
	}
	p := &place{f.Address, make([]symbols.Frame, n)}
	for i := range p.names {
		f.Func, f.File = c.text(r, &whole), c.text(r, &whole)
		line := r.number(math.MaxInt32)
		f.Line, f.Inlined = int(line>>1), line&1 != 0
		p.names[i] = f
	}
	if whole && r.ok {
		c.places[number] = p
	}
}

func (c *calls) addStack(r *entries, number uint32) {
	whole := true
	s := &Stack{Err: c.text(r, &whole)}
	n := int(r.number(maxPlaces))
	if !c.room(r, stackCost(n)) || n > len(r.rest) {
		r.ok = false
		return
	}
	for range n {
		p := c.places[uint32(r.number(math.MaxUint32))]
		if p == nil {
			whole = false
			continue
		}
		s.PCs, s.Names = append(s.PCs, p.pc), append(s.Names, p.names)
	}
	if whole && r.ok {
		c.stacks[number] = s
	}
}

// entries are what is left of a chunk.
type entries struct {
	rest []byte
	ok   bool // there was nothing wrong
}

// number reads a number that is not greater than most.
func (r *entries) number(most uint64) uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > most || !r.ok {
		r.ok = false
		return 0
	}
	r.rest = r.rest[size:]
	return n
}
