package shape

import (
	"fmt"

	"github.com/go-usdt/usdt/reader"
)

// Limits on the text of one event, in bytes. Types, and the descriptions in recordings, can
// make any number of values of one byte. An event therefore has a fixed number of bytes of
// text, and more in proportion to its record: RATIONALE.md.
const (
	perEvent = 1 << 10
	perByte  = 64
	perValue = 24 // of a slice, whose number of elements only records have

	// maxUses is how many values may be made of one string of a record.
	maxUses = 4
	// mostText is a cost at which sums and products stop.
	mostText = 1 << 30
	// MostNames is what the provider and the name of a traced probe may take, see [NameText].
	// Names of functions are names of C++ and Rust as well, and may be long templates.
	MostNames = 4 << 10
	// errText is what the reason of a value takes beside its path, faultText that of memory
	// that was not readable, and noteText that of arguments that are left out.
	errText   = 36
	faultText = 24
	noteText  = 160
)

// Bound replaces arguments that are too large for an event by an error that says so. taken is
// what the names of the probe take, see [NameText]. Every shape passes through Bound before
// records are decoded by it, so that the text and the memory of an event are in proportion to
// its record, wherever the types come from.
func (s *Shape) Bound(taken int) {
	size := s.Layout.FixedSize()
	b := bound{uses: make([]int, len(s.Layout.Strings))}
	room := max(perEvent+perByte*size-taken, noteText)
	left := room - noteText
	fields := make([]Field, 0, min(len(s.Fields), left/8))
	for i := range s.Fields {
		f := s.Fields[i]
		text, err := b.text(&f, NameText(f.Name), -1)
		if err == nil && text > left {
			err = fmt.Errorf("its values take more than the %d bytes of text for which an event of %d bytes has room", left, size)
		}
		if err == nil {
			err = b.use(&f, 0, 1)
		}
		if err != nil {
			f = Field{Name: f.Name, Kind: f.Kind, Err: err}
			text, _ = b.text(&f, NameText(f.Name), -1)
		}
		if text > left {
			fields = append(fields, Field{Name: "...", Err: fmt.Errorf("%d arguments are left out: an event of %d bytes has room for %d bytes of text", len(s.Fields)-i, size, room)})
			break
		}
		left -= text
		fields = append(fields, f)
	}
	s.Fields = fields
}

// FrameText is what a frame of a stack takes as text beside its names and paths.
const FrameText = 64

// StackText returns how many bytes the frames of a stack with so many addresses may take as text:
// for each of them, several inlined functions whose names are templates.
func StackText(addresses int) int { return 64<<10 + addresses<<11 }

// NameText returns how many bytes a name takes in the output at most: a byte that is no plain
// character is escaped, as \u0001.
func NameText(name string) int {
	n := len(name)
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			n += 5
		}
	}
	return n
}

// bound adds up what the arguments of an event take.
type bound struct {
	uses []int // of the record's strings
}

// text returns how many bytes the value of a field takes as text at most, as JSON or as a line,
// except for the bytes of its strings. path is the length of the path that leads to it, and read
// the read that its surroundings lie in.
func (b *bound) text(f *Field, path, read int) (n int, err error) {
	reason := path + errText
	switch f.Source {
	case FromNowhere:
		return NameText(f.Name) + reason + NameText(fmt.Sprint(f.Err)), nil
	case FromConstant, FromRecord:
		n = 2 + 3*int(f.Size)
		if f.Kind == reader.Float || f.Source == FromConstant {
			n = 2 + 3*8
		}
		if f.Meaning != reader.Plain {
			n += errText + reason
		}
	case FromRaw:
		n = 4 + 4*f.Count
	case FromChars:
		n = reason + 6*f.Count
	case FromString:
		n = 2 + reason
	case FromGoTime, FromGoAddr:
		n = 2*errText + reason
	case FromSlice:
		n = 2 + reason
		each, err := b.text(&f.Parts[0], path+8, f.Read)
		if err == nil && each > perValue+perByte*f.Stride {
			err = fmt.Errorf("its elements take more than the %d bytes of text for which one of %d bytes has room", perValue+perByte*f.Stride, f.Stride)
		}
		if err != nil {
			return 0, err
		}
	case FromArray, FromCounted:
		each, err := b.text(&f.Parts[0], path+8, f.Read)
		if err != nil {
			return 0, err
		}
		n = 2 + min(f.Count, mostText)*(each+1) + reason
	case FromStruct, FromPointer:
		n = 2
		for i := range f.Parts {
			part := &f.Parts[i]
			each, err := b.text(part, path+1+NameText(part.Name), f.Read)
			if err != nil {
				return 0, err
			}
			n = min(n+each, mostText)
		}
	}
	if f.Read != read {
		n = max(n, 4+path+faultText)
	}
	if f.Name != "" {
		n += 4 + NameText(f.Name)
	}
	return min(n, mostText), nil
}

// use counts the uses of strings by a field whose values are few enough. The indices of its
// strings are shifted by index, and it is read times times.
func (b *bound) use(f *Field, index, times int) error {
	switch f.Source {
	case FromString, FromSlice:
		if f.Source == FromSlice {
			times *= maxUses // elements have several values
		}
		if i := f.Index + index; i >= 0 && i < len(b.uses) {
			if b.uses[i] += times; b.uses[i] > maxUses {
				return fmt.Errorf("a string of the record has more than %d uses", maxUses)
			}
		}
		return nil
	case FromArray, FromCounted:
		if f.Strings == 0 {
			return b.use(&f.Parts[0], index, times*max(f.Whole, 1))
		}
		for i := range f.Whole {
			if err := b.use(&f.Parts[0], index+i*f.Strings, times); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range f.Parts {
		if err := b.use(&f.Parts[i], index, times); err != nil {
			return err
		}
	}
	return nil
}
