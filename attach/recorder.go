package attach

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/numbering"
	"github.com/go-usdt/usdt/attach/internal/recorder"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/tracefile"
)

// Recorder is a set of probes whose events are written to a file undecoded, together
// with all that is needed to decode them.
type Recorder struct {
	stream

	given []string // selectors
}

// RecordOptions say which events are written to a file. A file has all parts of events, since
// nobody knows what will be asked of it.
type RecordOptions struct {
	RingSize, MaxString, Sample int // see [EventOptions]
}

// Record attaches as [Open] does, to write events to a file instead of delivering them.
// [Options.Target].Recordings then reads the file: Open, [OpenAggregate], [OpenLatency] and
// [OpenPairs] make the same of it as of live events, in another process, at another time and
// on another machine. Events that a condition or Sample leaves out are not in the file.
//
// With Options.Stack, the file has the stacks of events, with the names that their frames have
// when they are written to it, a moment after they fired: whoever reads it needs neither the
// processes nor their files. Each stack and each name is written once, or again if remembering
// all of them would take too much memory. what and opts may be nil.
func Record(ctx context.Context, selectors []string, what *RecordOptions, opts *Options) (*Recorder, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	if what == nil {
		what = &RecordOptions{}
	}
	o, err := opts.used(&EventOptions{RingSize: what.RingSize, MaxString: what.MaxString, Sample: what.Sample})
	if err != nil {
		return nil, err
	}
	if len(o.Target.Recordings) > 0 {
		return nil, &OptionError{"Recordings", errors.New("they have been recorded")}
	}
	return openBy(o, func(r *Recorder, o *settings) error {
		r.given, o.keep = selectors, true
		return r.begin(ctx, selectors, o, nil)
	})
}

// RecordLimits end the writing of a file; 0 is no limit.
type RecordLimits struct {
	Events uint64
	Bytes  int64 // of the file
}

// Write writes a file to w, as FORMAT.md describes it, until Events of a [Session] would
// end, a limit is reached or w returns an error. limits may be nil. It writes whenever a
// buffer is full, and ten times a second: whatever becomes of this process, what was
// written can be read. If w is an [os.File] and cannot grow, as on a full disk, the file has as many
// events as there is room for, and is whole. Events that could not be written are unread, as
// Stats counts them. Write is called once.
func (r *Recorder) Write(w io.Writer, limits *RecordLimits) error {
	if limits == nil {
		limits = &RecordLimits{}
	}
	out, err := recorder.New(w, &recorder.Session{
		Info: r.info(r.given), Clock: r.clock, Code: r.code, Groups: r.knownGroup(), Sites: r.sites.Load, Counts: r.counts, Losses: r.losses.Take, Stop: r.Stop,
		Events: limits.Events, Bytes: limits.Bytes,
	})
	if err != nil {
		return err
	}
	r.records(func(b []byte, _ bool, err error) bool {
		rec, short := record.Check(b)
		if err = cmp.Or(err, short); err != nil {
			if len(b) > 0 { // it was taken, and is not in the file
				r.received.Add(^uint64(0))
				r.unread.Add(1)
			}
			out.Fail(err)
			return false
		}
		return out.Add(rec)
	})
	unwritten, err := out.End()
	r.unread.Add(unwritten)
	r.received.Add(-unwritten)
	return err
}

// counts returns what became of events, for the file.
func (r *Recorder) counts() (*tracefile.Counts, error) {
	st, err := r.Stats()
	return &tracefile.Counts{Fired: st.Fired, Lost: st.Lost, Filtered: st.Filtered, Missed: st.Missed}, err
}

// info says where and how events are recorded.
func (s *stream) info(given []string) *tracefile.Info {
	info := &tracefile.Info{Begun: time.Now(), Machine: runtime.GOARCH, Selectors: given, Where: s.options.Where, Sample: s.options.Sample}
	var uts unix.Utsname
	if unix.Uname(&uts) == nil {
		info.Kernel = unix.ByteSliceToString(uts.Release[:])
	}
	return info
}

// WriteKept writes the events that [SpanOptions].Keep keeps as a [Recorder] does, for
// [Target.Recordings] of all calls. All may run meanwhile.
func (s *Spans) WriteKept(w io.Writer) error {
	if s.newest == nil {
		return &OptionError{"Keep", errors.New("it is 0: no events are kept")}
	}
	kept, table, lost := s.newest.Now(), s.sites.Load(), s.losses.Copy()
	var counts tracefile.Counts
	for rec := range kept {
		if counts.Fired++; counts.Fired == 1 {
			first := rec.Time()
			lost = slices.DeleteFunc(lost, func(l source.Lost) bool { return l.To < first })
		}
	}
	for _, l := range lost {
		counts.Lost += l.N
	}
	counts.Fired += counts.Lost
	info := s.info(s.given)
	if s.options.recorded {
		info.Where = "" // which is tested here
	}
	out, err := recorder.New(w, &recorder.Session{
		Info: info, Clock: s.clock, Code: s.code, Groups: s.knownGroup(), Stop: func() error { return nil },
		Sites:  func() *numbering.Table { return table },
		Counts: func() (*tracefile.Counts, error) { c := counts; return &c, nil },
		Losses: func() (all []source.Lost) { all, lost = lost, nil; return all },
	})
	if err != nil {
		return err
	}
	for rec, of := range kept {
		table = of
		if !out.Add(rec) {
			break
		}
	}
	_, err = out.End()
	return err
}
