package event_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// asked names code by the address and by whether a call returns there.
type asked struct{}

func (asked) Names(pc uint64, call bool) []symbols.Frame {
	f := symbols.Frame{Address: pc, Module: "/bin/x", Func: fmt.Sprintf("u%d", pc)}
	if pc>>63 != 0 {
		f.Module, f.Func, f.Offset = "[kernel]", fmt.Sprintf("k%d", pc&0xff), 4
	}
	if call {
		f.Func += "'"
	}
	switch pc {
	case last:
		f.Func = "main"
	case outermost:
		f.Func = "_start"
	}
	return []symbols.Frame{f}
}

func (asked) Unwind([]uint64, *symbols.Registers, []byte) symbols.Calls { return symbols.Calls{} }

const last, outermost = 0x401000, 0x402000

// TestKernelStack checks that the kernel's part of a stack precedes the program's, that both begin with the
// instruction that ran, and that the number of calls bounds both.
func TestKernelStack(t *testing.T) {
	k := func(n uint64) uint64 { return 1<<63 + n }
	const efault = 1<<64 - 14
	for _, test := range []struct {
		name    string
		most    int
		program []uint64
		kernel  []uint64
		want    string
	}{
		{"both", 8, []uint64{5000, 6000, last, 24}, []uint64{k(1), k(2), 16}, "k1 k2' u5000 u6000' main"},
		{"only the kernel's first is the instruction", 8, []uint64{last, 8}, []uint64{k(1), k(2), k(3), 24}, "k1 k2' k3' main"},
		{"a thread of the kernel", 8, []uint64{efault}, []uint64{k(1), k(2), 16}, "k1 k2'"},
		{"none of the kernel's", 8, []uint64{last, 8}, []uint64{0}, "main"},
		{"refused", 8, []uint64{last, 8}, []uint64{efault}, "main: the kernel could not read its own part of the stack: bad address"},
		{"frame pointers that lead into the kernel", 8, []uint64{5000, k(9), last, 24}, []uint64{k(1), 8}, "k1 u5000: frame pointers lead on"},
		{"as many as are read", 3, []uint64{5000, 6000, last, 24}, []uint64{k(1), k(2), 16}, "k1 k2' u5000: no more than 3 calls are read"},
		{"as many as are read, up to the first", 3, []uint64{5000, 6000, outermost, 24}, []uint64{0}, "u5000 u6000' _start"},
		{"both as many as are read", 5, []uint64{5000, 6000, last, 24}, []uint64{k(1), k(2), 16}, "k1 k2' u5000 u6000' main"},
		{"one too many of both", 4, []uint64{5000, 6000, last, 24}, []uint64{k(1), k(2), 16}, "k1 k2' u5000 u6000': no more than 4 calls are read"},
		{"the kernel's are as many", 2, []uint64{5000, last, 16}, []uint64{k(1), k(2), 16}, "k1 k2': no more than 2 calls are read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := decoderOf(&shape.Shape{Layout: &record.Layout{Stack: record.Stack{Most: test.most, Kernel: test.most}}})
			d.NameCode(func(int, *reader.Probe, []uint64) decode.Code { return asked{} })
			rec := make([]byte, (&record.Layout{}).FixedSize())
			for _, word := range slices.Concat(test.program, test.kernel) {
				rec = binary.NativeEndian.AppendUint64(rec, word)
			}
			s := d.StackOf(rec)
			var names []string
			for _, f := range s.Frames() {
				names = append(names, f.Func)
			}
			got := strings.Join(names, " ")
			if s.Err != nil {
				got += ": " + s.Err.Error()
			}
			if got != test.want && !(s.Err != nil && strings.Contains(test.want, ": ") && strings.HasPrefix(got, test.want)) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestKernelFrameJSON checks that frames of the kernel say so in JSON, and have their names again when it
// is read.
func TestKernelFrameJSON(t *testing.T) {
	s := decode.NamedStack(symbols.Calls{PCs: []uint64{1<<63 + 1, last}}, &record.Stack{Most: 4, Kernel: 4}, asked{})
	got := string(s.AppendJSON(nil))
	want := `[{"addr":9223372036854775809,"func":"k1","module":"[kernel]","offset":4,"kernel":true},{"addr":4198400,"func":"main","module":"/bin/x","offset":0}]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var ev event.Event
	if err := ev.UnmarshalJSON([]byte(`{"time":"2026-01-02T03:04:05Z","provider":"p","name":"n","stack":` + got + `}`)); err != nil {
		t.Fatal(err)
	}
	if again := string(ev.Stack.AppendJSON(nil)); again != want {
		t.Errorf("read again: %s", again)
	}
	if got, want := s.Frames()[0].String(), "k1+0x4 [kernel]"; got != want {
		t.Errorf("as text: %q, want %q", got, want)
	}
}
