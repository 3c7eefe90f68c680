package page

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/go-usdt/usdt/event"
)

// span is the times from one probe to another.
type span struct {
	start, end *probe
	took       histogram
	heat       map[int]*series // by the bucket of the time
	slowest    []slow          // unordered, until cut
	least      int64           // what is no longer is not listed
	groups     groups
	place      int // among the spans
}

// slow is a pair that took long.
type slow struct {
	Began      int64 // in nanoseconds since 1970
	Took       int64 // in nanoseconds
	PID        int
	Comm       string
	Start, End string // the arguments, as text; End has the ones that the start lacks
}

const (
	// maxSlowest is how many pairs are listed.
	maxSlowest = 200
	// heatPerOctave is how many rows a heat map has from a power of two to the next.
	heatPerOctave = 4
)

func (p *Page) spanOf(start, end *event.Event) *span {
	s, e := p.probeOf(start.Provider, start.Name), p.probeOf(end.Provider, end.Name)
	for _, known := range p.spans {
		if known.start == s && known.end == e {
			return known
		}
	}
	known := &span{start: s, end: e, heat: map[int]*series{}, took: histogram{most: maxExactTimes}}
	p.spans = append(p.spans, known)
	return known
}

// name names the pairs. The two ends of a function have one name.
func (s *span) name() string {
	if s.start == s.end {
		return s.start.name + " → return"
	}
	return s.start.name + " → " + s.end.name
}

func (s *span) add(p *Page, start, end *event.Event, took time.Duration) {
	took = max(took, 0)
	s.took.add(float64(took))
	row := heatRow(took)
	if s.heat[row] == nil {
		s.heat[row] = &series{}
	}
	p.time.add(s.heat[row], nanos(end.Time))
	if len(s.slowest) == 2*maxSlowest {
		s.cut()
	}
	if len(s.slowest) < maxSlowest || int64(took) > s.least {
		s.slowest = append(s.slowest, slow{
			Began: nanos(start.Time), Took: int64(took), PID: start.PID, Comm: start.Comm,
			Start: p.line(start.Args), End: p.line(news(start.Args, end.Args)),
		})
	}
}

// cut leaves of the listed pairs the slowest ones, in order.
func (s *span) cut() {
	slices.SortStableFunc(s.slowest, func(a, b slow) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Began, b.Began))
	})
	if len(s.slowest) >= maxSlowest {
		s.slowest = s.slowest[:maxSlowest]
		s.least = s.slowest[maxSlowest-1].Took
	}
}

// heatRow returns the row of a time in a heat map: of 1 ns, row 0.
func heatRow(took time.Duration) int {
	return int(math.Floor(math.Log2(float64(max(took, 1))) * heatPerOctave))
}

// news returns the arguments of an end that its start does not have, or has with another value.
func news(start, end []event.Arg) (all []event.Arg) {
	if event.Struct(end).IsNil() {
		return end
	}
	for i := range end {
		same := func(a event.Arg) bool {
			return a.Name == end[i].Name && a.Err == nil && end[i].Err == nil && reflect.DeepEqual(a.Value, end[i].Value)
		}
		if !slices.ContainsFunc(start, same) {
			all = append(all, end[i])
		}
	}
	return all
}

// line returns arguments as text.
func (p *Page) line(args []event.Arg) string {
	var b []byte
	if event.Struct(args).IsNil() {
		return "nil"
	}
	for i := range args {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(append(b, args[i].Name...), '=')
		b = p.text(b, &args[i])
	}
	return string(b)
}
