package perfetto

import (
	"encoding/hex"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/go-usdt/usdt/symbols"
)

// interned are the texts and stacks to which packets refer by number. The readers of a
// trace keep them until the writer says that it begins anew.
type interned struct {
	texts   map[text]uint64
	frames  map[frame]uint64
	stacks  map[string]uint64           // by the numbers of the frames
	numbers [internedMapping + 1]uint64 // the last one, by field
	size    int                         // bytes that all of them take, about
	fresh   []byte                      // what the packet has to say of new ones

	key []byte
}

// text is a text, and the field of InternedData that has its number.
type text struct {
	field protowire.Number
	text  string
}

// frame identifies a frame by its numbers.
type frame struct {
	function, mapping, source, offset uint64
	line                              int
}

// maxInterned bounds the memory of interned data, in bytes. Each entry takes about
// entrySize beside its text.
const (
	maxInterned = 16 << 20
	entrySize   = 64
)

func (in *interned) clear() {
	*in = interned{texts: map[text]uint64{}, frames: map[frame]uint64{}, stacks: map[string]uint64{}, fresh: in.fresh[:0], key: in.key}
}

// number returns the number of a new entry of a field.
func (in *interned) number(field protowire.Number, size int) uint64 {
	in.size += entrySize + size
	in.numbers[field]++
	return in.numbers[field]
}

// text returns the number of a text.
func (in *interned) text(field protowire.Number, s string) uint64 {
	if n, ok := in.texts[text{field, s}]; ok {
		return n
	}
	n := in.number(field, len(s))
	in.texts[text{field, strings.Clone(s)}] = n
	b, start := open(in.fresh, field)
	in.fresh = closed(appendText(appendUint(b, internedID, n), internedText, s), start)
	return n
}

// buildID returns the number of a build-id, which readers expect as bytes.
func (in *interned) buildID(id string) uint64 {
	if n, ok := in.texts[text{internedBuildID, id}]; ok {
		return n
	}
	raw, err := hex.DecodeString(id)
	if err != nil {
		return 0
	}
	n := in.number(internedBuildID, len(id))
	in.texts[text{internedBuildID, id}] = n
	b, start := open(in.fresh, internedBuildID)
	in.fresh = closed(appendBytes(appendUint(b, internedID, n), internedText, raw), start)
	return n
}

// mapping returns the number of a file with code.
func (in *interned) mapping(path, id string) uint64 {
	key := text{internedMapping, path + "\x00" + id}
	if n, ok := in.texts[key]; ok {
		return n
	}
	// The path is put together from its parts, with a '/' in front of each.
	pathNumber := in.text(internedPath, strings.TrimPrefix(path, "/"))
	idNumber := uint64(0)
	if id != "" {
		idNumber = in.buildID(id)
	}
	n := in.number(internedMapping, len(key.text))
	in.texts[key] = n
	b, start := open(in.fresh, internedMapping)
	b = appendUint(b, internedID, n)
	if idNumber != 0 {
		b = appendUint(b, mappingBuildID, idNumber)
	}
	in.fresh = closed(appendUint(b, mappingPath, pathNumber), start)
	return n
}

// frame returns the number of a frame.
func (in *interned) frame(f *symbols.Frame) uint64 {
	key := frame{offset: f.Offset, line: f.Line}
	name := f.Func
	if name == "" && f.Module == "" {
		name = f.String() // with the address, which nothing else has
	}
	if name != "" {
		key.function = in.text(internedFunction, name)
	}
	if f.Module != "" {
		key.mapping = in.mapping(f.Module, f.BuildID)
	}
	if f.File != "" {
		key.source = in.text(internedSource, f.File)
	}
	if n, ok := in.frames[key]; ok {
		return n
	}
	n := in.number(internedFrame, 0)
	in.frames[key] = n
	b, start := open(in.fresh, internedFrame)
	b = appendUint(b, internedID, n)
	for _, v := range []struct {
		field protowire.Number
		value uint64
	}{{frameFunction, key.function}, {frameMapping, key.mapping}, {frameOffset, key.offset}, {frameSource, key.source}, {frameLine, uint64(key.line)}} {
		if v.value != 0 {
			b = appendUint(b, v.field, v.value)
		}
	}
	in.fresh = closed(b, start)
	return n
}

// stack returns the number of a stack, whose frames are given the innermost first; 0 for
// none. Perfetto's begin with the outermost.
func (in *interned) stack(frames []symbols.Frame) uint64 {
	if len(frames) == 0 {
		return 0
	}
	in.key = in.key[:0]
	for i := len(frames) - 1; i >= 0; i-- {
		in.key = appendUint(in.key, callstackFrame, in.frame(&frames[i]))
	}
	if n, ok := in.stacks[string(in.key)]; ok {
		return n
	}
	n := in.number(internedCallstack, len(in.key))
	in.stacks[string(in.key)] = n
	b, start := open(in.fresh, internedCallstack)
	in.fresh = closed(append(appendUint(b, internedID, n), in.key...), start)
	return n
}
