package page

import (
	"sync"
	"time"

	"github.com/go-usdt/usdt/event"
)

// MaxEvents is how many events a page keeps at most for its table, and maxBytes how much
// memory they take, compressed. In the file, bytes take a third more.
const (
	MaxEvents = 1 << 20
	maxBytes  = 48 << 20
)

// Page adds up events and pairs, and keeps the newest events. Its methods may be called by
// several goroutines.
type Page struct {
	Registers bool // add up what is in registers when functions are called

	text func(dst []byte, a *event.Arg) []byte

	mu      sync.Mutex
	total   uint64
	kept    uint64 // events in blocks
	bytes   int    // of blocks
	most    uint64 // events
	oldest  int64  // the time from which on events are kept; 0 for all
	changes uint64
	blocks  []sealed
	dropped uint64 // blocks
	current *block
	probes  []*probe
	byName  map[probeKey]*probe
	spans   []*span
	time    timeline
	calls   tree
	first   int64 // of all events, in nanoseconds since 1970
	last    int64
}

type probeKey struct{ provider, name string }

// sealed is a block that is full.
type sealed struct {
	data   []byte // compressed
	events uint64
	last   int64 // time of its newest event
}

// New returns an empty page. text appends a value as the table shows it, if it is no number.
func New(text func(dst []byte, a *event.Arg) []byte) *Page {
	p := &Page{text: text, most: MaxEvents, byName: map[probeKey]*probe{}}
	p.current = newBlock()
	p.calls.init()
	return p
}

// Add adds an event.
func (p *Page) Add(ev *event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := nanos(ev.Time)
	if p.total == 0 {
		p.first, p.last = at, at
	}
	p.first, p.last = min(p.first, at), max(p.last, at)
	p.total++
	p.changes++
	pr := p.probeOf(ev.Provider, ev.Name)
	pr.count++
	p.time.add(&pr.rate, at)
	node := p.calls.add(ev.Stack)
	if ev.Stack != nil {
		pr.stacks[node]++
	}
	p.current.add(p, pr, ev, at, node)
	if p.current.full() {
		p.seal()
	}
	p.makeRoom()
}

// AddPair adds the time from a start to its end. Both are events of their own, for Add.
// group is the text by which the times of pairs are added up, empty for none; place is
// where their span stands among the spans of the page.
func (p *Page) AddPair(start, end *event.Event, took time.Duration, group string, place int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	s := p.spanOf(start, end)
	s.place = place
	s.add(p, start, end, took)
	if group != "" {
		s.groups.add(group, float64(max(took, 0)))
	}
}

func (p *Page) probeOf(provider, name string) *probe {
	key := probeKey{provider, name}
	pr := p.byName[key]
	if pr == nil {
		pr = newProbe(len(p.probes), provider+":"+name)
		p.byName[key], p.probes = pr, append(p.probes, pr)
	}
	return pr
}

// LossOf returns a loss from one time to another.
func LossOf(from, to time.Time, n uint64) Loss {
	l := Loss{From: nanos(from), To: nanos(to), N: n}
	l.To = max(l.From, l.To)
	return l
}

// nanos returns a time in nanoseconds since 1970. Recordings may be damaged: what is far
// from all times at which computers ran is cut off, so that differences do not overflow.
func nanos(t time.Time) int64 {
	const most = 1 << 61 // 2043
	return min(max(t.UnixNano(), 0), most)
}

// seal compresses the current block.
func (p *Page) seal() {
	b := p.current
	if b.rows() == 0 {
		return
	}
	s := sealed{compress(b.encode(p.probes)), uint64(b.rows()), b.last}
	p.blocks, p.kept, p.bytes = append(p.blocks, s), p.kept+s.events, p.bytes+len(s.data)
	p.current = newBlock()
	p.makeRoom()
}

// makeRoom drops the oldest full blocks if there is too much.
func (p *Page) makeRoom() {
	for len(p.blocks) > 1 && (p.kept+uint64(p.current.rows()) > p.most || p.bytes > maxBytes) {
		old := p.blocks[0]
		p.kept, p.bytes = p.kept-old.events, p.bytes-len(old.data)
		p.oldest = max(p.oldest, old.last)
		p.blocks[0].data = nil
		p.blocks, p.dropped = p.blocks[1:], p.dropped+1
	}
}
