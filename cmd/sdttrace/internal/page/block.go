package page

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

// block holds events in columns: one each for when, what, who and where, and one for each
// argument of each probe.
type block struct {
	times     []int64
	probes    []int // numbers of probes
	tasks     []int // indices of tasks
	nodes     []int32
	columns   map[*argument]*column
	rowsOf    map[*probe]int
	strings   []string
	byString  map[string]int
	processes []task
	byTask    map[task]int
	size      int // of strings, in bytes
	last      int64
	line      []byte
}

// task is a thread, as the table shows it.
type task struct {
	PID, TID int
	Comm     string
}

// column holds an argument of the events of a probe, in order.
type column struct {
	kind    kind
	decided bool // by the first number
	rows    int
	bits    []uint64
	texts   []int       // of a column of texts
	others  map[int]int // rows without a number, and their texts
}

// A block is full with this many events, or bytes of text.
const (
	blockEvents = 1 << 15
	blockText   = 8 << 20
)

func newBlock() *block {
	return &block{columns: map[*argument]*column{}, rowsOf: map[*probe]int{}, byString: map[string]int{}, byTask: map[task]int{}}
}

func (b *block) rows() int  { return len(b.times) }
func (b *block) full() bool { return len(b.times) >= blockEvents || b.size >= blockText }

func (b *block) add(p *Page, pr *probe, ev *event.Event, at int64, node int32) {
	b.times, b.probes, b.nodes = append(b.times, at), append(b.probes, pr.number), append(b.nodes, node)
	b.last = max(b.last, at)
	t := task{ev.PID, ev.TID, ev.Comm}
	i, ok := b.byTask[t]
	if !ok {
		i = len(b.processes)
		b.processes, b.byTask[t] = append(b.processes, t), i
	}
	b.tasks = append(b.tasks, i)
	args := ev.Args
	if event.Struct(args).IsNil() {
		args = args[:1] // whose cell says that the record is nil
	}
	b.args(p, pr, ev.Probe, args, "", 0)
	b.rowsOf[pr]++
}

// args adds arguments, and for a struct its fields. n is how many there were before;
// args returns how many there are then.
func (b *block) args(p *Page, pr *probe, declared *reader.Probe, args []event.Arg, prefix string, n int) int {
	for i := range args {
		a := &args[i]
		name := a.Name
		if prefix != "" {
			name = prefix + name
		}
		if fields, ok := a.Value.(event.Struct); ok && a.Err == nil && len(fields) > 0 {
			n = b.args(p, pr, nil, fields, name+".", n)
			continue
		}
		known := pr.argument(n, name)
		if known.kind == "" {
			known.counts = p.measures(declared, a)
		}
		known.note(declared, i, a)
		b.value(p, pr, known, a)
		n++
	}
	return n
}

func (b *block) value(p *Page, pr *probe, known *argument, a *event.Arg) {
	c := b.columns[known]
	if c == nil {
		c = &column{}
		b.columns[known] = c
	}
	row := b.rowsOf[pr]
	c.fill(row)
	k, bits, value, unit := numberOf(a)
	if k != texts {
		if known.counts {
			known.values.add(value)
		}
		if unit != "" {
			known.unit = unit
		}
		if !c.decided {
			c.decide(k)
		}
	}
	if k == texts || k != c.kind {
		b.line = p.text(b.line[:0], a)
		text := b.text(b.line)
		if !c.decided {
			c.texts = append(c.texts, text)
		} else {
			c.other(row, text)
			c.bits = append(c.bits, 0)
		}
	} else {
		c.bits = append(c.bits, bits)
	}
	c.rows = row + 1
}

// noText stands for the text of an argument that an event does not have.
const noText = -1

// fill adds what stands for events that did not have the argument.
func (c *column) fill(rows int) {
	for ; c.rows < rows; c.rows++ {
		if !c.decided {
			c.texts = append(c.texts, noText)
			continue
		}
		c.other(c.rows, noText)
		c.bits = append(c.bits, 0)
	}
}

// decide makes a column one of numbers.
func (c *column) decide(k kind) {
	c.kind, c.decided = k, true
	c.bits = make([]uint64, len(c.texts), len(c.texts)+1)
	for row, text := range c.texts {
		c.other(row, text)
	}
	c.texts = nil
}

func (c *column) other(row, text int) {
	if c.others == nil {
		c.others = map[int]int{}
	}
	c.others[row] = text
}

func (b *block) text(s []byte) int {
	i, ok := b.byString[string(s)]
	if !ok {
		i = len(b.strings)
		// Text comes from what is traced: JSON and the page take valid UTF-8 only.
		text := strings.ToValidUTF8(string(s), "\uFFFD")
		b.strings, b.byString[string(s)] = append(b.strings, text), i
		b.size += len(s)
	}
	return i
}

// head describes a block. Its columns follow, in this order: times, probes, tasks, nodes,
// and the arguments' columns.
type head struct {
	Rows    int
	Begin   int64 `json:",string"` // of times
	Strings []string
	Tasks   []task
	Columns []columnHead
}

// columnHead describes the column of an argument.
type columnHead struct {
	Probe, Arg, Rows int
	Kind             string      // "text", "int" for numbers that JavaScript has exactly, "signed", "unsigned", "float"
	Others           map[int]int `json:",omitempty"`
}

// exact is the first integer behind all that JavaScript's numbers have exactly.
const exact = 1 << 53

// encode returns the block's bytes: the length of its head, the head as JSON, the columns.
// Integers are the differences from one to the next, signed, in as few bytes as they need.
// Floats, and integers that are too large for JavaScript, have 8 bytes, in little-endian
// order.
func (b *block) encode(probes []*probe) []byte {
	h := head{Rows: b.rows(), Strings: b.strings, Tasks: b.processes}
	var data []byte
	h.Begin = b.times[0]
	last := h.Begin
	for _, t := range b.times {
		data = binary.AppendVarint(data, t-last)
		last = t
	}
	data = appendDeltas(data, b.probes)
	data = appendDeltas(data, b.tasks)
	data = appendDeltas(data, b.nodes)
	for _, pr := range probes {
		for _, a := range pr.args {
			c := b.columns[a]
			if c == nil {
				continue
			}
			c.fill(b.rowsOf[pr])
			ch := columnHead{Probe: pr.number, Arg: a.number, Rows: c.rows, Others: c.others}
			ch.Kind, data = c.append(data)
			h.Columns = append(h.Columns, ch)
		}
	}
	// Nothing in a head fails to be encoded.
	text, _ := printable.MarshalShown(h)
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(text)+len(data)), uint32(len(text)))
	return append(append(out, text...), data...)
}

func (c *column) append(dst []byte) (string, []byte) {
	if !c.decided {
		return "text", appendDeltas(dst, c.texts)
	}
	if c.kind != floats {
		fits := true
		for _, v := range c.bits {
			if c.kind == signed {
				fits = fits && int64(v) > -exact && int64(v) < exact
			} else {
				fits = fits && v < exact
			}
		}
		if fits {
			return "int", appendDeltas(dst, c.bits)
		}
	}
	for _, v := range c.bits {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return [...]string{"", "signed", "unsigned", "float"}[c.kind], dst
}

func appendDeltas[T int | int32 | uint64](dst []byte, values []T) []byte {
	last := int64(0)
	for _, v := range values {
		dst = binary.AppendVarint(dst, int64(v)-last)
		last = int64(v)
	}
	return dst
}

// compress returns b as gzip.
func compress(b []byte) []byte {
	var out bytes.Buffer
	// Neither a level that exists nor memory fails.
	w, _ := gzip.NewWriterLevel(&out, gzip.DefaultCompression)
	w.Write(b)
	w.Close()
	return out.Bytes()
}
