package notes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/turns"
)

// byteOrder is the interface of both byte orders.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

var orders = []byteOrder{binary.LittleEndian, binary.BigEndian}

var classes = []Class{ELFCLASS32, ELFCLASS64}

var sampleNotes = []Note{
	{Provider: "p", Name: "n", Location: 0x401136, Base: 0x402010, Semaphore: 0x404028, Args: "8@%rdi -4@%esi"},
	{Provider: "provider", Name: "name__with__dashes", Location: 1},
	{},
	{Provider: "p", Name: "max", Location: 0xffffffff, Base: 0xffffffff, Semaphore: 0xffffffff, Args: ":"},
}

// collect returns the notes and errors of data in the order All yields them.
func collect(data []byte, order binary.ByteOrder, class Class) (notes []Note, errs []error) {
	for n, err := range All(data, order, class) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		notes = append(notes, n)
	}
	return notes, errs
}

func TestNoteRoundTrip(t *testing.T) {
	for _, order := range orders {
		for _, class := range classes {
			var data []byte
			for _, n := range sampleNotes {
				before := len(data)
				data = n.Append(data, order, class)
				if got := len(data) - before; got != n.Size(class) {
					t.Errorf("%v %v: Append added %d bytes, Size says %d", order, class, got, n.Size(class))
				}
			}
			got, errs := collect(data, order, class)
			if !reflect.DeepEqual(got, sampleNotes) || errs != nil {
				t.Errorf("%v %v: got %+v, %v\nwant %+v", order, class, got, errs, sampleNotes)
			}
		}
	}
}

// TestNoteBytes decodes what gcc 12 and sys/sdt.h make of STAP_PROBE1(p, n, 5), with
// addresses that a linker could have filled in.
func TestNoteBytes(t *testing.T) {
	want := "\x08\x00\x00\x00" + "\x22\x00\x00\x00" + "\x03\x00\x00\x00" + "stapsdt\x00" +
		"\x31\x11\x00\x00\x00\x00\x00\x00" + "\x04\x20\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" +
		"p\x00" + "n\x00" + "-4@$5\x00" + "\x00\x00"
	n := Note{Provider: "p", Name: "n", Location: 0x1131, Base: 0x2004, Args: "-4@$5"}
	if got := string(n.Append(nil, binary.LittleEndian, ELFCLASS64)); got != want {
		t.Errorf("got  % x\nwant % x", got, want)
	}
}

// hostileNote builds a note field by field, with lengths that may lie.
func hostileNote(namesz, descsz, typ uint32, rest string) string {
	var b []byte
	for _, v := range []uint32{namesz, descsz, typ} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return string(b) + rest
}

func TestAllHostile(t *testing.T) {
	good := string(sampleNotes[0].Append(nil, binary.LittleEndian, ELFCLASS64))
	addresses := strings.Repeat("\x01", 24)
	for _, c := range []struct {
		name      string
		data      string
		notes     int
		errs      int
		truncated bool // all errors wrap ErrTruncated
	}{
		{"empty", "", 0, 0, false},
		{"good", good + good, 2, 0, false},
		{"padding", good + strings.Repeat("\x00", 1000), 1, 0, false},
		{"padding of no whole header", good + "\x00\x00\x00\x00", 1, 0, false},
		{"zeros between", good + strings.Repeat("\x00", 24) + good, 2, 0, false},
		{"rest of no whole header", good + "\x01\x00\x00\x00", 1, 1, true},
		{"header alone", good[:12], 0, 1, true},
		{"description cut", good[:len(good)-8], 0, 1, true},
		{"last padding cut", good[:len(good)-1], 1, 0, false},
		{"descsz 4 GiB", good + hostileNote(8, 0xffffffff, 3, "stapsdt\x00") + good, 1, 1, true},
		{"namesz 4 GiB", good + hostileNote(0xffffffff, 0, 3, "stapsdt\x00") + good, 1, 1, true},
		{"both 4 GiB", hostileNote(0xffffffff, 0xffffffff, 3, "stapsdt\x00") + good, 0, 1, true},
		{"sum wraps at 32 bits", hostileNote(8, 0xfffffff0, 3, "stapsdt\x00") + good, 0, 1, true},
		{"other owner", hostileNote(4, 4, 3, "GNU\x00abcd") + good, 1, 0, false},
		{"other owner of same length", hostileNote(8, 4, 3, "stapsdT\x00abcd") + good, 1, 0, false},
		{"owner without NUL", hostileNote(7, 4, 3, "stapsdt\x00abcd") + good, 1, 0, false},
		{"other type", hostileNote(8, 4, 4, "stapsdt\x00abcd") + good, 1, 0, false},
		{"no description", hostileNote(8, 0, 3, "stapsdt\x00") + good, 1, 1, true},
		{"two addresses", hostileNote(8, 16, 3, "stapsdt\x00"+addresses[:16]) + good, 1, 1, true},
		{"three addresses", hostileNote(8, 24, 3, "stapsdt\x00"+addresses) + good, 1, 1, true},
		{"provider not terminated", hostileNote(8, 28, 3, "stapsdt\x00"+addresses+"prov") + good, 1, 1, true},
		{"name not terminated", hostileNote(8, 28, 3, "stapsdt\x00"+addresses+"p\x00na") + good, 1, 1, true},
		{"arguments not terminated", hostileNote(8, 28, 3, "stapsdt\x00"+addresses+"p\x00n\x00") + good, 1, 1, true},
		{"shortest", hostileNote(8, 27, 3, "stapsdt\x00"+addresses+"\x00\x00\x00\x00") + good, 2, 0, false},
		{"text behind", hostileNote(8, 32, 3, "stapsdt\x00"+addresses+"p\x00n\x00\x00abc") + good, 2, 0, false},
		{"type alone", hostileNote(0, 0, 7, "") + good, 1, 0, false},
	} {
		notes, errs := collect([]byte(c.data), binary.LittleEndian, ELFCLASS64)
		if len(notes) != c.notes || len(errs) != c.errs {
			t.Errorf("%s: got %d notes and errors %v, want %d and %d", c.name, len(notes), errs, c.notes, c.errs)
		}
		for _, err := range errs {
			if errors.Is(err, ErrTruncated) != c.truncated {
				t.Errorf("%s: error %q, ErrTruncated: want %v", c.name, err, c.truncated)
			}
		}
	}
}

func TestAllErrorText(t *testing.T) {
	data := hostileNote(8, 28, 3, "stapsdt\x00"+strings.Repeat("\x01", 24)+"prov")
	_, errs := collect([]byte(data), binary.LittleEndian, ELFCLASS64)
	want := "note at offset 0x0: provider is not terminated: truncated"
	if len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("got %v, want %s", errs, want)
	}
}

func TestAllStops(t *testing.T) {
	data := sampleNotes[0].Append(nil, binary.LittleEndian, ELFCLASS64)
	data = sampleNotes[1].Append(data, binary.LittleEndian, ELFCLASS64)
	data = append(data, hostileNote(8, 0, 3, "stapsdt\x00")...)
	for range All(data, binary.LittleEndian, ELFCLASS64) {
		break
	}
	for _, err := range All(data, binary.LittleEndian, ELFCLASS64) {
		if err != nil {
			break
		}
	}
}

// TestAllLarge checks that sections of zeros, or of tiny notes only, take time that
// grows no faster than their length.
func TestAllLarge(t *testing.T) {
	const size = 4 << 20
	last := sampleNotes[0].Append(nil, binary.LittleEndian, ELFCLASS64)
	data := append(make([]byte, size/12*12), last...)
	took := turns.Spent(func() {
		notes, errs := collect(data, binary.LittleEndian, ELFCLASS64)
		if len(notes) != 1 || errs != nil {
			t.Errorf("got %d notes and %v behind zeros, want 1", len(notes), errs)
		}
		for i := 0; i+12 < size; i += 12 {
			data[i+8] = 9
		}
		if notes, errs = collect(data, binary.LittleEndian, ELFCLASS64); len(notes) != 1 || errs != nil {
			t.Errorf("got %d notes and %v behind empty notes, want 1", len(notes), errs)
		}
	})
	if took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func FuzzAll(f *testing.F) {
	for _, class := range classes {
		var data []byte
		for _, n := range sampleNotes {
			data = n.Append(data, binary.LittleEndian, class)
		}
		f.Add(data, class == ELFCLASS32, false)
		f.Add(data[:len(data)-3], class == ELFCLASS32, false)
	}
	f.Add(sampleNotes[0].Append(nil, binary.BigEndian, ELFCLASS64), false, true)
	f.Add([]byte(hostileNote(8, 0xffffffff, 3, "stapsdt\x00")), false, false)
	f.Add([]byte(hostileNote(0xfffffffd, 0xfffffffd, 3, "stapsdt\x00")), true, false)
	f.Add(make([]byte, 40), true, true)
	f.Fuzz(func(t *testing.T, data []byte, narrow, big bool) {
		class, order := ELFCLASS64, orders[0]
		if narrow {
			class = ELFCLASS32
		}
		if big {
			order = orders[1]
		}
		decoded, _ := collect(data, order, class)
		var encoded []byte
		for _, n := range decoded {
			encoded = n.Append(encoded, order, class)
		}
		if len(encoded) > len(data)+3 {
			t.Errorf("%d notes of %d bytes take %d", len(decoded), len(data), len(encoded))
		}
		again, errs := collect(encoded, order, class)
		if !reflect.DeepEqual(decoded, again) || errs != nil {
			t.Errorf("got %+v, %v\nwant %+v", again, errs, decoded)
		}
	})
}

func BenchmarkAll(b *testing.B) {
	const count = 100_000
	var data []byte
	for i := range count {
		n := Note{Provider: "bench", Name: fmt.Sprintf("probe_%d", i), Location: uint64(i), Base: 1, Semaphore: 2, Args: "8@%rdi -4@%esi 8@48(%rax)"}
		data = n.Append(data, binary.LittleEndian, ELFCLASS64)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range All(data, binary.LittleEndian, ELFCLASS64) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != count {
			b.Fatalf("got %d notes", n)
		}
	}
}
