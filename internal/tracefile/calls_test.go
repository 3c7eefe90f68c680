package tracefile_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/symbols"
)

// stackFile is a file of events that have nothing but stacks.
type stackFile struct {
	bytes.Buffer
	w *tracefile.Writer
}

func newStackFile(t testing.TB) *stackFile {
	t.Helper()
	f := &stackFile{}
	var err error
	if f.w, err = tracefile.NewWriter(&f.Buffer, &tracefile.Info{}); err != nil {
		t.Fatal(err)
	}
	site := &tracefile.Site{Number: 1, Probe: tracefile.Probe{Kind: "usdt"}, CarrierSlot: -1, CPU: -1, UID: -1, Layout: tracefile.Layout{Stacks: 127}}
	if err := f.w.Site(site); err != nil {
		t.Fatal(err)
	}
	return f
}

// add adds an event, and returns the number of its stack.
func (f *stackFile) add(t testing.TB, s *tracefile.Stack) uint64 {
	t.Helper()
	number, err := f.w.Stack(s)
	if err != nil {
		t.Fatal(err)
	}
	rec := make([]byte, record.HeaderSize)
	rec[record.Site] = 1
	if err := f.w.Add(binary.LittleEndian.AppendUint64(rec, number), 0); err != nil {
		t.Fatal(err)
	}
	return number
}

// read returns the stacks of the events in the first n bytes.
func (f *stackFile) read(t testing.TB, n int) (stacks []*tracefile.Stack) {
	t.Helper()
	file, err := tracefile.Read(bytes.NewReader(f.Bytes()[:n]), int64(n))
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range file.Records() {
		if err != nil {
			t.Fatal(err)
		}
		stacks = append(stacks, file.Stack(binary.LittleEndian.Uint64(rec[len(rec)-8:])))
	}
	if file.Damaged > 0 {
		t.Errorf("%d bytes are damaged", file.Damaged)
	}
	return stacks
}

// numbered returns a stack of its own, which shares most frames with others.
func numbered(i int) *tracefile.Stack {
	s := &tracefile.Stack{}
	for depth := range 12 {
		pc := uint64(0x1000 * (depth + 1))
		if depth == 0 {
			pc += uint64(i)
		}
		f := symbols.Frame{Address: pc, Func: fmt.Sprintf("f%d", depth), File: "/src/x.go", Line: depth, Module: "/bin/x", Offset: pc}
		if depth == 0 {
			f.Func = fmt.Sprintf("leaf%d", i)
		}
		s.PCs, s.Names = append(s.PCs, pc), append(s.Names, []symbols.Frame{f})
	}
	return s
}

// TestStacksOnce checks that a stack, and a name, is written once, however many events have it.
func TestStacksOnce(t *testing.T) {
	f := newStackFile(t)
	first := f.add(t, numbered(0))
	f.w.Flush()
	one := f.Len()
	for range 1000 {
		if n := f.add(t, numbered(0)); n != first {
			t.Fatalf("the stack has the numbers %d and %d", first, n)
		}
	}
	f.w.Flush()
	const header, chunk = record.HeaderSize + 8 + 4, 16
	if more := f.Len() - one; more > 1000*header+chunk {
		t.Errorf("1000 events of the same stack take %d bytes, want %d and a header", more, 1000*header)
	}
	if n := strings.Count(f.String(), "/src/x.go"); n != 1 {
		t.Errorf("the file has a name %d times", n)
	}
}

// TestStacksForgotten writes more stacks than the writer remembers. It writes those again that it
// has forgotten: all events have theirs, wherever the file is cut off.
func TestStacksForgotten(t *testing.T) {
	f := newStackFile(t)
	const n = 60_000
	generations := map[uint64]bool{}
	for i := range n {
		generations[f.add(t, numbered(i%50_000))>>32] = true
	}
	if err := f.w.End(); err != nil {
		t.Fatal(err)
	}
	if len(generations) < 2 {
		t.Fatalf("%d stacks are %d generation, want more", n, len(generations))
	}
	for _, part := range []int{1, 3, 7, 10} {
		stacks := f.read(t, f.Len()*part/10)
		if part == 10 && len(stacks) != n {
			t.Errorf("%d events, want %d", len(stacks), n)
		}
		for i, s := range stacks {
			if s == nil {
				t.Fatalf("%d tenths: event %d of %d has no stack", part, i, len(stacks))
			}
			if i%1000 > 0 {
				continue
			}
			if d := cmp.Diff(numbered(i%50_000), s, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("event %d (-written +read):\n%s", i, d)
			}
		}
	}
}

// TestLargeStacks checks that names of any length, and any number of them, make a file that can
// be read: long ones are cut, and others missing.
func TestLargeStacks(t *testing.T) {
	f := newStackFile(t)
	long := strings.Repeat("long", 100<<10)
	for i := range 3 {
		s := &tracefile.Stack{Err: long}
		for pc := range uint64(1100) {
			var names []symbols.Frame
			for j := range 30 {
				names = append(names, symbols.Frame{Address: pc, Func: fmt.Sprint(i, pc, j, long[:3000]), Inlined: j < 29})
			}
			s.PCs, s.Names = append(s.PCs, pc), append(s.Names, names)
		}
		f.add(t, s)
	}
	f.w.End()
	for i, s := range f.read(t, f.Len()) {
		if s == nil || len(s.PCs) != 1024 || len(s.Err) != 64<<10 || !strings.HasPrefix(s.Names[0][29].Func, fmt.Sprint(i, 0, 29)) {
			t.Errorf("event %d has the stack of %+.100v", i, s)
		}
	}
}

// TestLargeFrames checks that one address at which very many functions with long names run, and a
// line that no file has, cost nothing but some of their names: the events around them stay.
func TestLargeFrames(t *testing.T) {
	f := newStackFile(t)
	f.add(t, numbered(0))
	var names []symbols.Frame
	for i := range 256 {
		name := fmt.Sprintf("%03d%s", i, strings.Repeat("x", 64<<10-4))
		names = append(names, symbols.Frame{Address: 1, Func: name, File: "/" + name, Line: math.MaxUint32, Inlined: i < 255})
	}
	f.add(t, &tracefile.Stack{PCs: []uint64{1}, Names: [][]symbols.Frame{names}})
	f.add(t, numbered(1))
	f.w.End()
	stacks := f.read(t, f.Len())
	if len(stacks) != 3 || stacks[0] == nil || stacks[1] == nil || stacks[2] == nil {
		t.Fatalf("events have the stacks %.100v, want three", stacks)
	}
	if d := cmp.Diff(numbered(1).Names, stacks[2].Names); d != "" {
		t.Errorf("the last stack (-want +got):\n%s", d)
	}
	if got := stacks[1].Names[0]; len(got) != 256 || got[0].Func != names[0].Func || got[0].Line <= 0 {
		t.Errorf("%d functions, the first at line %d: want 256", len(got), got[0].Line)
	}
}

// TestWrongStacks checks that entries which lead nowhere cost the stacks that need them, and take
// no memory.
func TestWrongStacks(t *testing.T) {
	entry := func(kind byte, numbers ...uint64) []byte {
		b := []byte{kind}
		for _, n := range numbers {
			b = binary.AppendUvarint(b, n)
		}
		return b
	}
	place, stack := entry(2, 16, 0, 0, 5, 1, 0, 0, 2), entry(3, 0, 1, 1)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, test := range map[string]struct {
		entries []byte
		whole   bool // the stack is there
		damaged bool
	}{
		"right":                {join(place, stack), true, false},
		"no such place":        {stack, false, false},
		"no such text":         {join(entry(2, 16, 9, 0, 5, 1, 0, 0, 2), stack), false, false},
		"no such error":        {join(place, entry(3, 7, 1, 1)), false, false},
		"another kind":         {join(place, stack, []byte{9}), true, true},
		"too many places":      {join(place, entry(3, 0, 255)), false, true},
		"more places":          {join(place, entry(3, 0, 200, 1)), false, true},
		"too many functions":   {join(entry(2, 16, 0, 0, 5, 1025), stack), false, true},
		"more functions":       {join(entry(2, 16, 0, 0, 5, 1000), stack), false, true},
		"text beyond its end":  {join(entry(1, 100), place), false, true},
		"text that is long":    {join(entry(1, 1<<40), place), false, true},
		"number without end":   {join(place, []byte{3, 0x80, 0x80}), false, true},
		"number of no integer": {join(place, []byte{3}, bytes.Repeat([]byte{0xff}, 11)), false, true},
		"line":                 {join(entry(2, 16, 0, 0, 5, 1, 0, 0, 1<<33), stack), false, true},
		"much":                 {bytes.Repeat(entry(2, append([]uint64{16, 0, 0, 5, 1000}, make([]uint64, 3000)...)...), 600), false, true},
	} {
		payload := binary.LittleEndian.AppendUint32(nil, 1)
		for range 3 {
			payload = binary.LittleEndian.AppendUint32(payload, 1)
		}
		f := newStackFile(t)
		b := tracefile.AppendCalls(bytes.Clone(f.Bytes()), append(payload, test.entries...))
		before := len(b)
		f.add(t, &tracefile.Stack{})
		f.w.Flush()
		rest := f.Bytes()[len(f.Bytes())-(16+4+record.HeaderSize+8):] // the chunk of the event, whose stack is number 1 of generation 1
		b = append(b, rest...)
		file, err := tracefile.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rec := range file.Records() {
			n++
			if s := file.Stack(binary.LittleEndian.Uint64(rec[len(rec)-8:])); (s != nil) != test.whole {
				t.Errorf("%s: the event has the stack %+v", name, s)
			}
		}
		if n != 1 || (file.Damaged > 0) != test.damaged || before == f.Len() {
			t.Errorf("%s: %d events, %d bytes damaged, want one, damaged %v", name, n, file.Damaged, test.damaged)
		}
	}
}
