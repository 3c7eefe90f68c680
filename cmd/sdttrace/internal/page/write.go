package page

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-usdt/usdt/internal/printable"
)

// Summary is what the page says of the session.
type Summary struct {
	Command        string // that wrote the page
	Lost, Filtered uint64 // events; missed ones are lost
	Version        string
	Tree           bool     `json:",omitempty"` // of a server: it also has the tree of probes
	Losses         []Loss   // when Lost were lost, by time
	Why            []string `json:",omitempty"` // there is nothing to show
	Notes          []string `json:",omitempty"` // when probes fire
}

// Loss is a time in which N events were lost, in nanoseconds since 1970.
type Loss struct {
	From, To int64 `json:",string"`
	N        uint64
}

// contents is what the page shows beside the events.
type contents struct {
	Summary
	Written     time.Time
	Zone        int   // of the machine, in seconds east of Greenwich
	First, Last int64 `json:",string"`
	Total, Kept uint64
	Most        uint64
	Complete    int64 `json:",string"` // from when on all events are kept; 0 for always
	Cut         uint64
	Time        struct {
		Begin int64 `json:",string"`
		Width int64
		Bins  int
	}
	Probes    []probeContents
	Spans     []spanContents
	Names     []string
	Parents   []int32
	Functions []int32 // names of the nodes of the tree
}

type probeContents struct {
	Name   string
	Count  uint64
	Rate   []uint64
	Args   []argContents
	Stacks [][2]uint64 // nodes, and how many events have their stack
}

type argContents struct {
	Name, Unit string
	Kind       string            `json:",omitempty"`
	Of         string            `json:",omitempty"`
	Size       int               `json:",omitempty"` // elements of an array
	Names      map[string]string `json:",omitempty"`
	Values     *values           `json:",omitempty"`
}

// values is a histogram.
type values struct {
	Count         uint64
	Min, Max, Sum float64
	Buckets       [][2]int64   // numbers of buckets, and how many values are in them
	Exact         [][2]float64 `json:",omitempty"` // values in their order, and how many, if few are distinct
}

type spanContents struct {
	Name       string
	Start, End int // probes
	Took       *values
	Heat       []heatContents
	Groups     []groupContents `json:",omitempty"`
	Slowest    []slowContents
}

type heatContents struct {
	Row    int
	Counts []uint64
}

type slowContents struct {
	slow
	Began string
}

// Write writes the page. Nothing is added meanwhile.
func (p *Page) Write(w io.Writer, s Summary) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seal()
	// The contents have neither functions nor channels, and no NaN or infinity, so that they
	// can be encoded.
	text, err := printable.MarshalShown(p.contents(s))
	if err != nil {
		return err
	}
	script, err := program("file")
	if err != nil {
		return err
	}
	return writeDocument(w, script, policyOf(script, ""), func(out *bufio.Writer) {
		writeData(out, "contents", compress(text))
		for _, b := range p.blocks {
			writeData(out, "events", b.data)
		}
	})
}

// writeData writes an element that holds bytes: base64 has nothing that HTML means.
func writeData(out *bufio.Writer, class string, data []byte) {
	fmt.Fprintf(out, "<script type=\"application/gzip;base64\" class=%q>", class)
	to := base64.NewEncoder(base64.StdEncoding, out)
	to.Write(data)
	to.Close()
	out.WriteString("</script>\n")
}

func (p *Page) contents(s Summary) *contents {
	now := time.Now()
	_, zone := now.Zone()
	s.Command = strings.ToValidUTF8(s.Command, "\uFFFD")
	s.Losses = p.time.includeAll(s.Losses)
	c := &contents{
		Summary: s, Written: now, Zone: zone, First: p.first, Last: p.last, Total: p.total, Kept: p.kept, Most: p.most,
		Complete: p.oldest, Cut: p.calls.cut, Names: p.calls.names,
	}
	c.Time.Begin, c.Time.Width, c.Time.Bins = p.time.begin, p.time.width, p.time.bins
	for _, n := range p.calls.nodes {
		c.Parents, c.Functions = append(c.Parents, n.parent), append(c.Functions, n.name)
	}
	for _, pr := range p.probes {
		pc := probeContents{Name: pr.name, Count: pr.count, Rate: pr.rate.counts}
		for node, n := range pr.stacks {
			pc.Stacks = append(pc.Stacks, [2]uint64{uint64(node), n})
		}
		for _, a := range pr.args {
			pc.Args = append(pc.Args, argContents{a.name, a.unit, a.kind, a.of, a.count, a.names, a.values.contents()})
		}
		c.Probes = append(c.Probes, pc)
	}
	slices.SortStableFunc(p.spans, func(a, b *span) int { return a.place - b.place })
	for _, known := range p.spans {
		known.cut()
		sc := spanContents{Name: known.name(), Start: known.start.number, End: known.end.number, Took: known.took.contents(), Groups: known.groups.contents()}
		for row, s := range known.heat {
			sc.Heat = append(sc.Heat, heatContents{row, s.counts})
		}
		for _, s := range known.slowest {
			sc.Slowest = append(sc.Slowest, slowContents{s, fmt.Sprint(s.Began)})
		}
		c.Spans = append(c.Spans, sc)
	}
	return c
}

// contents returns the histogram; nil if it has no values.
func (h *histogram) contents() *values {
	if h.count == 0 {
		return nil
	}
	v := &values{Count: h.count, Min: h.min, Max: h.max, Sum: min(max(h.sum, -maxFloat), maxFloat)}
	if math.IsNaN(v.Sum) {
		v.Sum = 0 // of sums that are too large, of both signs
	}
	for b, n := range h.buckets {
		v.Buckets = append(v.Buckets, [2]int64{int64(b), int64(n)})
	}
	for _, number := range slices.Sorted(maps.Keys(h.exact)) {
		v.Exact = append(v.Exact, [2]float64{number, float64(h.exact[number])})
	}
	return v
}
