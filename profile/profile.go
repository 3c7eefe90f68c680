package profile

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/symbols"
)

// Value is what samples have a number of.
type Value struct{ Type, Unit string }

// Profile adds up events by stack, probe, process and text of their arguments.
type Profile struct {
	weight  string // an argument; empty for none
	values  []Value
	shown   int // the one of values that is shown first, and that folded stacks have
	began   time.Time
	ended   time.Time // zero while events are added as they fire
	samples map[string]*sample
	calls   map[call]*calls
	all     []*calls // by their numbers
	most    int      // samples

	// Unlike is the number of events that are not told apart by their text, since the
	// profile is large; Left that of events whose argument is no number, which are left
	// out.
	Unlike, Left uint64

	key    []byte
	frames []symbols.Frame
}

// sample is what events of one kind add up to.
type sample struct {
	stack   []*calls // the innermost first
	comm    string   // of the thread; empty if it is not known
	texts   []text
	numbers []number
	values  []int64
}

// text is an argument that is text.
type text struct{ name, value string }

// number is a number that tells samples apart, with a unit or none.
type number struct {
	name, unit string
	value      int64
}

// calls are the functions that run at an address, the innermost first.
type calls struct {
	number int
	frames []symbols.Frame
}

// call identifies an address, whatever process it is in.
type call struct {
	module, id string
	offset     uint64
	fn, file   string
	line       int
}

// maxSamples is how many samples a profile has before it tells them apart by stack,
// probe and process only, and maxText the bytes of an argument that count.
const (
	maxSamples = 1 << 17
	maxText    = 256
)

// New returns an empty profile of events, which adds up a number, the argument of that
// name, if it is not empty.
func New(weight string) *Profile {
	values := []Value{{"events", "count"}}
	if weight != "" {
		values = append(values, Value{weight, "count"})
	}
	p := Of(values...)
	p.weight = weight
	return p
}

// Of returns an empty profile whose samples have such values. The last one is shown first.
func Of(values ...Value) *Profile {
	return &Profile{values: values, shown: len(values) - 1, began: time.Now(), samples: map[string]*sample{}, calls: map[call]*calls{}, most: maxSamples}
}

// Cover says that the recording of which this is a profile includes a time.
func (p *Profile) Cover(at time.Time) {
	if p.ended.IsZero() {
		p.began, p.ended = at, at
	}
	if at.Before(p.began) {
		p.began = at
	}
	if at.After(p.ended) {
		p.ended = at
	}
}

// units are the units of pprof for the units of arguments.
var units = map[string]string{"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds", "bytes": "bytes", "kB": "kilobytes"}

// SetUnit says in what unit of arguments the value that is shown first is counted, if pprof has it.
func (p *Profile) SetUnit(unit string) {
	if known := units[unit]; known != "" {
		p.values[p.shown].Unit = known
	}
}

// Add adds an event.
func (p *Profile) Add(ev *event.Event) {
	values := []int64{1}
	if p.weight != "" {
		weight, ok := p.weigh(ev)
		if !ok {
			p.Left++
			return
		}
		values = append(values, weight)
	}
	s := p.sampleOf(ev)
	for i := range ev.Args {
		if v, ok := ev.Args[i].Value.(string); ok {
			s.texts = append(s.texts, text{ev.Args[i].Name, v[:min(len(v), maxText)]})
		}
	}
	if len(p.samples) >= p.most && len(s.texts) > ofEvent {
		s.texts = s.texts[:ofEvent]
		p.Unlike++
	}
	p.add(s, values...)
}

// ofEvent is how many texts every event has: its probe, and the name of its thread.
const ofEvent = 2

// sampleOf returns the sample of an event, without its arguments.
func (p *Profile) sampleOf(ev *event.Event) *sample {
	return &sample{
		stack: p.stack(ev.Stack), comm: ev.Comm,
		texts: []text{{"probe", ev.Provider + ":" + ev.Name}, {"comm", ev.Comm}}, numbers: []number{{"pid", "", int64(ev.PID)}},
	}
}

// add adds values to an equal sample's, and returns that sample.
func (p *Profile) add(s *sample, values ...int64) *sample {
	p.key = s.appendKey(p.key[:0])
	known := p.samples[string(p.key)]
	if known == nil {
		known = s
		known.values = make([]int64, len(p.values))
		p.samples[string(p.key)] = known
	}
	for i, v := range values {
		known.values[i] += v
	}
	return known
}

// weigh returns the number of an event that is added up, and whether there is one.
func (p *Profile) weigh(ev *event.Event) (int64, bool) {
	for i := range ev.Args {
		if ev.Args[i].Name == p.weight {
			return p.number(ev.Args[i].Value)
		}
	}
	return 0, false
}

// number returns a number as samples have it, and whether it is one. A duration has a unit.
func (p *Profile) number(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(min(v, math.MaxInt64)), true
	case float64:
		if !math.IsNaN(v) {
			return int64(math.Round(max(math.MinInt64, min(v, math.MaxInt64/2)))), true
		}
	case time.Duration:
		p.SetUnit("ns")
		return int64(v), true
	}
	return 0, false
}

// stack returns the calls of a stack.
func (p *Profile) stack(s *event.Stack) (stack []*calls) {
	if s == nil {
		return nil
	}
	p.frames = s.AppendMarked(p.frames[:0])
	for rest := p.frames; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n-1].Inlined {
			n++
		}
		stack, rest = append(stack, p.callsOf(rest[:n])), rest[n:]
	}
	return stack
}

// callsOf returns the calls at one address.
func (p *Profile) callsOf(frames []symbols.Frame) *calls {
	f := &frames[0]
	key := call{f.Module, f.BuildID, f.Offset, f.Func, f.File, f.Line}
	c := p.calls[key]
	if c == nil {
		c = &calls{len(p.all) + 1, slices.Clone(frames)}
		p.calls[key], p.all = c, append(p.all, c)
	}
	return c
}

// appendKey appends the key of a sample.
func (s *sample) appendKey(b []byte) []byte {
	word := func(n int) { b = binary.AppendUvarint(b, uint64(n)) }
	str := func(v string) {
		word(len(v))
		b = append(b, v...)
	}
	word(len(s.stack))
	for _, c := range s.stack {
		word(c.number)
	}
	word(len(s.texts))
	for _, t := range s.texts {
		str(t.name)
		str(t.value)
	}
	for _, n := range s.numbers {
		str(n.name)
		b = binary.AppendVarint(b, n.value)
	}
	return b
}

// sorted returns the samples, the largest first, and otherwise in an order that depends
// on nothing else.
func (p *Profile) sorted() []*sample {
	keys := make([]string, 0, len(p.samples))
	for key := range p.samples {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(p.samples[b].values[0], p.samples[a].values[0]), strings.Compare(a, b))
	})
	all := make([]*sample, len(keys))
	for i, key := range keys {
		all[i] = p.samples[key]
	}
	return all
}
