package attach

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/clock"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/reader"
)

// Recorder is a set of probes whose events are written to a file undecoded, together
// with all that is needed to decode them.
type Recorder struct {
	stream

	given []string // selectors
}

// Record attaches as [Open] does, to write events to a file instead of delivering them.
// [Options.Target].Recordings then reads the file: Open, [OpenAggregate], [OpenLatency] and
// [OpenPairs] make the same of it as of live events, in another process, at another time and
// on another machine. Events that a condition or Sample leaves out are not in the file.
//
// With Options.Stack, the file has the stacks of events, with the names that their frames have
// when they are written to it, a moment after they fired: whoever reads it needs neither the
// processes nor their files. Each stack and each name is written once, or again if remembering
// all of them would take too much memory.
func Record(ctx context.Context, selectors []string, opts *Options) (*Recorder, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	o, err := opts.used()
	if err != nil {
		return nil, err
	}
	if len(o.Target.Recordings) > 0 {
		return nil, &OptionError{"Recordings", errors.New("they have been recorded")}
	}
	if err := o.refuseOmit("a file has all parts of events, since nobody knows what will be asked of it"); err != nil {
		return nil, err
	}
	var r *Recorder
	err = o.each(func(o *settings) error {
		r = &Recorder{given: selectors}
		o.keep = true
		err := r.begin(ctx, selectors, o, nil)
		if err != nil {
			r.release()
			r.code.Close()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// RecordLimits end the writing of a file; 0 is no limit.
type RecordLimits struct {
	Events uint64
	Bytes  int64 // of the file
}

const (
	// flushInterval is how long events may be kept from the file.
	flushInterval = 100 * time.Millisecond
	// countInterval is how often the file is told what became of events.
	countInterval = time.Second
)

// Write writes a file to w, as FORMAT.md describes it, until Events of a [Session] would
// end, a limit is reached or w returns an error. limits may be nil. It writes whenever a
// buffer is full, and ten times a second: whatever becomes of this process, what was
// written can be read. If w is an [os.File], a part that could not be written whole is
// removed again before the error is returned. Events that could not be written are unread,
// as Stats counts them. Write is called once.
func (r *Recorder) Write(w io.Writer, limits *RecordLimits) error {
	if limits == nil {
		limits = &RecordLimits{}
	}
	file, err := tracefile.NewWriter(w, r.info())
	if err != nil {
		return err
	}
	out := fileOutput{r: r, file: file, wall: r.clock}
	out.stacks = newRecordedStacks(r, file, out.site)
	out.describe()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		out.flushNowAndThen(stop)
	}()
	wall := r.clock
	r.records(func(b []byte, _ bool, err error) bool {
		rec, short := record.Check(b)
		if err = cmp.Or(err, short); err != nil {
			if len(b) > 0 { // it was taken, and is not in the file
				r.received.Add(^uint64(0))
				r.unread.Add(1)
			}
			out.fail(err)
			return false
		}
		at := rec.Time()
		return out.add(rec, wall.Wall(at).UnixNano()-int64(at), limits)
	})
	close(stop)
	<-ended
	return out.end(w)
}

// info says where and how events are recorded.
func (r *Recorder) info() *tracefile.Info {
	info := &tracefile.Info{Begun: time.Now(), Machine: runtime.GOARCH, Selectors: r.given, Where: r.options.Where, Sample: r.options.Sample}
	var uts unix.Utsname
	if unix.Uname(&uts) == nil {
		info.Kernel = unix.ByteSliceToString(uts.Release[:])
	}
	return info
}

// fileOutput writes a file, for the goroutine that reads records and the one that flushes.
type fileOutput struct {
	r *Recorder

	mu     sync.Mutex // of what follows
	file   *tracefile.Writer
	stacks *recordedStacks // nil if there are none
	err    error
	table  *siteTable // whose sites are in the file
	sites  []savedSite
	events uint64
	wall   clock.Clock // of losses
}

// savedSite is what a number stands for in the file.
type savedSite struct {
	probe  *reader.Probe
	schema *bind.Schema
}

// add writes a record, and reports whether there may be more.
func (o *fileOutput) add(rec record.Record, offset int64, limits *RecordLimits) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.r.sites.Load() != o.table {
		o.describeLocked()
	}
	if o.stacks != nil {
		rec = o.withNumber(rec)
	}
	o.failLocked(o.file.Add(rec, offset))
	o.events++
	return o.err == nil && o.events != limits.Events && (limits.Bytes == 0 || o.file.Size() < limits.Bytes)
}

// withNumber returns a record with a number in place of its stack.
func (o *fileOutput) withNumber(rec record.Record) record.Record {
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
func (o *fileOutput) site(number uint32) (*shape.Shape, *reader.Probe) {
	if uint64(number) >= uint64(len(o.sites)) || o.sites[number].schema == nil {
		return nil, nil
	}
	return &o.sites[number].schema.Shape, o.sites[number].probe
}

// describe writes the sites that the file lacks.
func (o *fileOutput) describe() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.describeLocked()
}

func (o *fileOutput) describeLocked() {
	o.table = o.r.sites.Load()
	if more := len(o.table.probes) - len(o.sites); more > 0 {
		o.sites = append(o.sites, make([]savedSite, more)...)
	}
	for i, p := range o.table.probes {
		now := savedSite{p, o.table.schemas[i]}
		if p == nil || o.sites[i] == now {
			continue
		}
		o.sites[i] = now
		d := now.schema.Save(p)
		d.Number = uint32(i)
		o.failLocked(o.file.Site(d))
	}
}

// flushNowAndThen writes what has been gathered, until stop is closed.
func (o *fileOutput) flushNowAndThen(stop <-chan struct{}) {
	ticks := time.NewTicker(flushInterval)
	defer ticks.Stop()
	var counted time.Time
	for {
		select {
		case <-stop:
			return
		case now := <-ticks.C:
			o.mu.Lock()
			wrote := o.file.Waiting()
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
func (o *fileOutput) count() {
	st, err := o.r.Stats()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failLocked(cmp.Or(err, o.file.Flush()))
	c := &tracefile.Counts{Fired: st.Fired, Recorded: o.file.Records(), Lost: st.Lost, Filtered: st.Filtered, Missed: st.Missed}
	for _, l := range o.r.losses.Take() {
		c.Losses = append(c.Losses, tracefile.Loss{From: o.wall.Wall(l.From).UnixNano(), To: o.wall.Wall(l.To).UnixNano(), N: l.N, PID: l.PID})
	}
	o.failLocked(o.file.Count(c))
}

func (o *fileOutput) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failLocked(err)
}

func (o *fileOutput) failLocked(err error) { o.err = cmp.Or(o.err, err) }

// end makes the file whole. It returns the first error.
func (o *fileOutput) end(w io.Writer) error {
	o.fail(o.r.Stop())
	o.fail(o.file.Flush())
	if o.file.Err() != nil {
		if f, ok := w.(*os.File); ok && f.Truncate(o.file.Written()) == nil {
			if _, err := f.Seek(o.file.Written(), io.SeekStart); err == nil {
				o.file.Mend()
			}
		}
	}
	o.count()
	o.fail(o.file.End())
	unwritten := o.events - o.file.Records()
	o.r.unread.Add(unwritten)
	o.r.received.Add(-unwritten)
	return o.err
}
