package recorder

import (
	"cmp"
	"io"
	"os"
	"sync"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/clock"
	"github.com/go-usdt/usdt/attach/internal/naming"
	"github.com/go-usdt/usdt/attach/internal/numbering"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/reader"
)

const (
	// flushInterval is how long events may be kept from the file.
	flushInterval = 100 * time.Millisecond
	// countInterval is how often the file is told what became of events.
	countInterval = time.Second
)

// Session is what a file is written of, and when it ends.
type Session struct {
	Info   *tracefile.Info
	Clock  clock.Clock
	Code   *naming.Code // of stacks; nil if there are none
	Sites  func() *numbering.Table
	Groups func(id uint64) (g container.Group, known bool) // of control groups; nil for none
	Counts func() (*tracefile.Counts, error)               // except what Output counts
	Losses func() []source.Lost                            // since the last call
	Stop   func() error

	Events uint64 // at most; 0 is no limit
	Bytes  int64  // about, of the file; 0 is no limit
}

// Output writes a file, for the goroutine that reads records and the one that flushes.
type Output struct {
	s     *Session
	to    io.Writer
	read  clock.Clock // of records
	stop  chan struct{}
	ended chan struct{}

	mu     sync.Mutex // of what follows
	file   *tracefile.Writer
	stacks *stacks // nil if there are none
	groups groups
	err    error
	table  *numbering.Table // whose sites are in the file
	sites  []savedSite
	events uint64
	wall   clock.Clock // of losses
}

// savedSite is what a number stands for in the file.
type savedSite struct {
	probe  *reader.Probe
	schema *bind.Schema
}

// New begins a file with the sites of a session.
func New(to io.Writer, s *Session) (*Output, error) {
	file, err := tracefile.NewWriter(to, s.Info)
	if err != nil {
		if f, ok := to.(*os.File); ok {
			f.Truncate(0)
		}
		return nil, err
	}
	o := &Output{s: s, to: to, file: file, read: s.Clock, wall: s.Clock, stop: make(chan struct{}), ended: make(chan struct{})}
	o.groups.of = s.Groups
	o.stacks = newStacks(s, file, o.site)
	o.describe() // nobody else has the file yet
	go func() {
		defer close(o.ended)
		o.flushNowAndThen()
	}()
	return o, nil
}

// Add writes a record, and reports whether there may be more.
func (o *Output) Add(rec record.Record) bool {
	at := rec.Time()
	offset := o.read.Wall(at).UnixNano() - int64(at)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.s.Sites() != o.table {
		o.describe()
	}
	if o.stacks != nil {
		rec = o.withNumber(rec)
	}
	o.groups.see(o, rec)
	o.failLocked(o.file.Add(rec, offset))
	o.events++
	return o.err == nil && o.events != o.s.Events && (o.s.Bytes == 0 || o.file.Size() < o.s.Bytes)
}

// withNumber returns a record with a number in place of its stack.
func (o *Output) withNumber(rec record.Record) record.Record {
	s, _ := o.site(rec.Site())
	if s == nil || s.Layout.Stack.Most == 0 {
		return rec
	}
	rec, err := o.stacks.replace(rec, &s.Layout.Stack)
	o.failLocked(err)
	return rec
}

// site returns the shape and the probe that a number stands for in the file, nil for none. o.mu
// is locked.
func (o *Output) site(number uint32) (*shape.Shape, *reader.Probe) {
	if uint64(number) >= uint64(len(o.sites)) || o.sites[number].schema == nil {
		return nil, nil
	}
	return &o.sites[number].schema.Shape, o.sites[number].probe
}

// describe writes the sites that the file lacks. o.mu is locked.
func (o *Output) describe() {
	o.table = o.s.Sites()
	if more := len(o.table.Probes) - len(o.sites); more > 0 {
		o.sites = append(o.sites, make([]savedSite, more)...)
	}
	for i, p := range o.table.Probes {
		now := savedSite{p, o.table.Schemas[i]}
		if p == nil || o.sites[i] == now {
			continue
		}
		o.sites[i] = now
		d := now.schema.Save(p)
		d.Number = uint32(i)
		o.failLocked(o.file.Site(d))
	}
}

// flushNowAndThen writes what has been gathered, until the end.
func (o *Output) flushNowAndThen() {
	ticks := time.NewTicker(flushInterval)
	defer ticks.Stop()
	var counted time.Time
	for {
		select {
		case <-o.stop:
			return
		case now := <-ticks.C:
			o.mu.Lock()
			wrote := o.file.Waiting()
			o.failLocked(o.groups.write(o.file))
			o.failLocked(o.file.Flush())
			o.mu.Unlock()
			if wrote && now.Sub(counted) >= countInterval {
				counted = now
				o.count()
			}
		}
	}
}

// count writes what became of events, behind the events that have been gathered.
func (o *Output) count() {
	c, err := o.s.Counts()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failLocked(cmp.Or(err, o.file.Flush()))
	c.Recorded = o.file.Records()
	for _, l := range o.s.Losses() {
		c.Losses = append(c.Losses, tracefile.Loss{From: o.wall.Wall(l.From).UnixNano(), To: o.wall.Wall(l.To).UnixNano(), N: l.N, PID: l.PID})
	}
	o.failLocked(o.file.Count(c))
}

// Fail notes an error, of which End returns the first.
func (o *Output) Fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failLocked(err)
}

func (o *Output) failLocked(err error) { o.err = cmp.Or(o.err, err) }

// End makes the file whole. It returns the number of events that were added but could not be
// written, and the first error.
func (o *Output) End() (unwritten uint64, err error) {
	close(o.stop)
	<-o.ended
	o.Fail(o.s.Stop())
	o.Fail(o.groups.write(o.file))
	o.Fail(o.file.Flush())
	if f, ok := o.to.(*os.File); ok && o.file.Err() != nil {
		o.file.Mend(func(offset int64) error {
			_, err := f.Seek(offset, io.SeekStart)
			return err
		})
		defer func() { f.Truncate(o.file.Written()) }() // what is left of a torn chunk
	}
	o.count()
	o.Fail(o.file.End())
	return o.events - o.file.Records(), o.err
}
