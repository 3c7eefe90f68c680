package tracefile

import (
	"encoding/binary"
	"math"

	"github.com/go-usdt/usdt/symbols"
)

// Stack is a stack that events have, and what names its frames.
type Stack struct {
	PCs   []uint64
	Names [][]symbols.Frame // of each address, the innermost first
	Err   string            // why there are no addresses, or why callers may be missing
}

// Stacks are written as entries that refer to each other by their numbers, each once: a text,
// a place, which is an address and what is known of it, and a stack, which is places. Numbers
// begin at 1; 0 stands for none. They belong to a generation: when its entries take too
// much memory, the next one begins, and knows none of them.
const (
	entryText  = 1 // length, bytes
	entryPlace = 2 // address, module, build-id, offset, number of functions; of each: name, file, line<<1 | inlined
	entryStack = 3 // error, number of places, places: the innermost first
)

// callsHeader is the size of what stands in front of the entries of a chunk: the generation,
// and the numbers of the first text, place and stack in the chunk.
const callsHeader = 16

const (
	// generationSize is how much memory, in the units of the costs below, the entries of a
	// generation take before the next one begins. maxGeneration is what readers allow: the
	// last stack of a generation may exceed the former.
	generationSize = 16 << 20
	maxGeneration  = 4 * generationSize

	maxText   = 64 << 10 // bytes of a text; longer ones are cut
	maxFrames = 1 << 10  // functions at an address
	maxPlaces = 1 << 10  // addresses of a stack
)

// Costs of entries for readers, in bytes.
func textCost(length int) int  { return 40 + length }
func placeCost(frames int) int { return 96 + 136*frames }
func stackCost(places int) int { return 128 + 32*places }

// stackNumber returns what stands at the end of each record of a site that has stacks, in 8 bytes: its
// generation and, in the lower half, its number in that.
func stackNumber(generation, number uint32) uint64 { return uint64(generation)<<32 | uint64(number) }

// callTable has the entries of a generation, for the writer.
type callTable struct {
	generation uint32
	texts      map[string]uint32
	places     map[string]uint32 // by their entries
	stacks     map[string]uint32
	size       int

	buf   []byte    // of a chunk: its header, room for first, and entries that are not written
	first [3]uint32 // numbers that the first ones in buf have, or would have
	entry []byte    // memory for one
}

func newCallTable() *callTable {
	t := &callTable{buf: make([]byte, chunkSize+callsHeader, chunkSize+callsHeader+4<<10)}
	t.begin()
	return t
}

// begin begins a generation. No entry waits to be written.
func (t *callTable) begin() {
	t.generation++
	t.texts, t.places, t.stacks, t.size = map[string]uint32{}, map[string]uint32{}, map[string]uint32{}, 0
	t.written()
}

// written forgets the entries in buf.
func (t *callTable) written() {
	t.buf = t.buf[:chunkSize+callsHeader]
	t.first = [3]uint32{uint32(len(t.texts) + 1), uint32(len(t.places) + 1), uint32(len(t.stacks) + 1)}
}

// waiting reports whether entries wait to be written.
func (t *callTable) waiting() bool { return t != nil && len(t.buf) > chunkSize+callsHeader }

// chunk returns the chunk of the entries that wait.
func (t *callTable) chunk() []byte {
	payload := t.buf[chunkSize:]
	for i, n := range []uint32{t.generation, t.first[0], t.first[1], t.first[2]} {
		binary.LittleEndian.PutUint32(payload[4*i:], n)
	}
	putHeader(t.buf, tagCalls, payload)
	return t.buf
}

// text returns the number of a text.
func (t *callTable) text(s string) uint64 {
	if s = s[:min(len(s), maxText)]; s == "" || t.size > maxGeneration/2 {
		return 0
	}
	n, known := t.texts[s]
	if !known {
		if len(t.buf)+len(s) > maxChunk-64<<10 {
			return 0 // of one address with very many long names
		}
		n = uint32(len(t.texts) + 1)
		t.texts[s] = n
		t.size += textCost(len(s))
		t.buf = append(binary.AppendUvarint(append(t.buf, entryText), uint64(len(s))), s...)
	}
	return uint64(n)
}

// place returns the number of an address and of the functions that run there.
func (t *callTable) place(pc uint64, names []symbols.Frame) uint64 {
	names = names[:min(len(names), maxFrames)]
	var first symbols.Frame
	if len(names) > 0 {
		first = names[0]
	}
	e := binary.AppendUvarint(append(t.entry[:0], entryPlace), pc)
	for _, n := range []uint64{t.text(first.Module), t.text(first.BuildID), first.Offset, uint64(len(names))} {
		e = binary.AppendUvarint(e, n)
	}
	for i := range names {
		f := &names[i]
		line := uint64(min(max(f.Line, 0), math.MaxInt32>>1)) << 1
		if f.Inlined {
			line |= 1
		}
		e = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(e, t.text(f.Func)), t.text(f.File)), line)
	}
	t.entry = e
	n, known := t.places[string(e)]
	if !known {
		n = uint32(len(t.places) + 1)
		t.places[string(e)] = n
		t.size += placeCost(len(names))
		t.buf = append(t.buf, e...)
	}
	return uint64(n)
}

// stack returns the number of a stack. flush is called when many entries wait.
func (t *callTable) stack(s *Stack, flush func()) uint32 {
	most := min(len(s.PCs), len(s.Names), maxPlaces)
	key := binary.AppendUvarint([]byte{entryStack}, t.text(s.Err))
	key = binary.AppendUvarint(key, uint64(most))
	for i := range most {
		key = binary.AppendUvarint(key, t.place(s.PCs[i], s.Names[i]))
		if len(t.buf) >= bufferSize {
			flush()
		}
	}
	n, known := t.stacks[string(key)]
	if !known {
		n = uint32(len(t.stacks) + 1)
		t.stacks[string(key)] = n
		t.size += stackCost(most)
		t.buf = append(t.buf, key...)
	}
	return n
}
