package notes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// counted counts the bytes read of data.
type counted struct {
	data io.ReaderAt
	n    int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.data.ReadAt(p, off)
	c.n += n
	return n, err
}

// results returns what a walk yields, an error as its text.
func results(size int64, r io.ReaderAt, order binary.ByteOrder, class Class) (out []string) {
	for n, err := range Read(r, size, order, class) {
		out = append(out, fmt.Sprintf("%+v, %v", n, err))
	}
	return out
}

// TestRead checks that Read yields what All does, wherever a window of the section
// ends.
func TestRead(t *testing.T) {
	for _, order := range orders {
		for _, class := range classes {
			var data []byte
			for i := range 3000 {
				args := strings.Repeat("8@%rdi ", i%41)
				if i%1000 == 999 {
					args = strings.Repeat("8@%rdi ", 2*windowSize/7+i)
				}
				data = Note{Provider: "p", Name: fmt.Sprint("n", i), Location: uint64(i), Args: args}.Append(data, order, class)
				switch {
				case i%500 == 77:
					data = append(data, make([]byte, 24+windowSize/5000*i)...)
				case i%500 == 78: // not terminated
					data = append(data, Note{Args: "8@%rdi"}.Append(nil, order, class)...)
					for j := len(data) - 11; j < len(data); j++ {
						data[j] = 'x'
					}
				case i%500 == 79: // another owner's
					data = order.AppendUint32(append(data, make([]byte, 4)...), uint32(i*64))
					data = append(order.AppendUint32(data, 9), make([]byte, i*64)...)
				}
			}
			for _, data := range [][]byte{data, data[:len(data)-7], data[:len(data)-20]} {
				var want []string
				var locations []uint64
				for n, err := range All(data, order, class) {
					want = append(want, fmt.Sprintf("%+v, %v", n, err))
					if err == nil {
						locations = append(locations, n.Location)
					}
				}
				if got := slices.Collect(Locations(bytes.NewReader(data), int64(len(data)), order, class)); !slices.Equal(got, locations) {
					t.Errorf("%v %v: %d locations, want %d, or others", order, class, len(got), len(locations))
				}
				r := &counted{data: bytes.NewReader(data)}
				got := results(int64(len(data)), r, order, class)
				if !reflect.DeepEqual(got, want) {
					for i := range min(len(got), len(want)) {
						if got[i] != want[i] {
							t.Fatalf("%v %v: result %d: got %.200s\nwant %.200s", order, class, i, got[i], want[i])
						}
					}
					t.Fatalf("%v %v: got %d results, want %d", order, class, len(got), len(want))
				}
				if r.n > 2*len(data) {
					t.Errorf("read %d bytes of a section of %d", r.n, len(data))
				}
			}
		}
	}
}

// TestReadHuge checks that Read reads neither foreign notes, whatever their size, nor
// our notes that are larger than any meaningful one.
func TestReadHuge(t *testing.T) {
	const huge = 64 << 20
	order, class := binary.LittleEndian, ELFCLASS64
	var data []byte
	for _, owner := range []string{"GNU\x00", "stapsdt\x00"} {
		data = append(data, hostileNote(uint32(len(owner)), huge, noteType, owner)...)
		data = append(data, make([]byte, huge)...)
	}
	data = sampleNotes[0].Append(data, order, class)
	r := &counted{data: bytes.NewReader(data)}
	var notes []Note
	var errs []string
	for n, err := range Read(r, int64(len(data)), order, class) {
		if err != nil {
			errs = append(errs, err.Error())
		} else {
			notes = append(notes, n)
		}
	}
	want := fmt.Sprintf("note at offset %#x: it has %d bytes, more than the %d that are read", huge+16, huge+20, maxNote)
	if !reflect.DeepEqual(notes, sampleNotes[:1]) || !reflect.DeepEqual(errs, []string{want}) {
		t.Errorf("got %+v and errors %q\nwant %+v and %q", notes, errs, sampleNotes[:1], want)
	}
	if r.n > 4*windowSize {
		t.Errorf("read %d bytes", r.n)
	}
}

func TestReadError(t *testing.T) {
	order, class := binary.LittleEndian, ELFCLASS64
	data := sampleNotes[0].Append(nil, order, class)
	long := Note{Args: strings.Repeat("8", windowSize+1)}.Append(data, order, class)
	for _, tt := range []struct {
		data []byte
		want string
	}{
		{data, fmt.Sprintf("read 20 bytes at offset %#x: unexpected EOF", len(data))},
		{long[:len(long)-100], fmt.Sprintf("note at offset %#x: read %d bytes at offset %#[1]x: unexpected EOF", len(data), len(long)-len(data))},
	} {
		var notes int
		var errs []error
		for _, err := range Read(bytes.NewReader(tt.data), int64(len(long)), order, class) {
			if err != nil {
				errs = append(errs, err)
			} else {
				notes++
			}
		}
		if notes != 1 || len(errs) != 1 || errs[0].Error() != tt.want || !errors.Is(errs[0], io.ErrUnexpectedEOF) {
			t.Errorf("got %d notes and %v\nwant 1 and %s", notes, errs, tt.want)
		}
	}
}
