package source

import (
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/tally"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/reader"
)

// Recordings is the source of what flight recorders have kept, and of files that a Recorder
// has written. Their processes need not live.
type Recordings struct {
	files   []*recording
	found   []recordedSite // of the plan, in its order
	groups  *savedGroups
	stacks  *savedStacks // nil if they are not asked for
	tests   bool         // conditions are tested here
	sample  int          // one in so many events that pass is delivered; 0 for all
	stopped atomic.Bool

	reading sync.Mutex // of what follows
	begun   bool
	merge   byTime // the files that have a record waiting
	filter  tally.Filter
	st      Counts
	fail    func(error)
	Lost    *Losses
}

// recording is a file of a flight recorder or of a Recorder.
type recording struct {
	recordedFile
	path  string
	sites map[uint32]*Site // the sites that are read, by their numbers in the file

	index   int // among the files
	pull    func() ([]byte, error, bool)
	stop    func()        // nil before the first record was read
	waiting record.Record // the next record; nil if there is none
	known   int           // of its losses
}

// recordedFile is one of the two kinds of files.
type recordedFile interface {
	// Records yields the records by their times. Each is valid until the next one.
	Records() iter.Seq2[[]byte, error]
	Close() error

	// find returns the sites of the file at path. An error that stands beside others costs
	// the records of some sites.
	find(path string) (probes []reader.Probe, sites []recordedSite, err error)
	// stats returns the numbers of events that the file lacks, and losses when these fired, as
	// far as that is known.
	stats() Counts
	losses() []tracefile.Loss
	// lacksStacks returns why there are no stacks; nil if there are.
	lacksStacks() error
	// group returns what the file says of a control group.
	group(id uint64) (container.Group, bool)
	// stack returns the stack with the number that the record which was read last has.
	stack(number uint64) *event.Stack
}

// recordedSite is a site of a file.
type recordedSite struct {
	file   *recording
	number uint32 // in records
	site.Recorded
}

// OpenRecordings opens the files of flight recorders, each once.
func OpenRecordings(paths []string, tests bool, sample int, fail func(error)) (_ *Recordings, err error) {
	r := &Recordings{tests: tests, sample: sample, fail: fail, Lost: &Losses{}, groups: newSavedGroups()}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	for _, path := range tracefile.Distinct(paths) {
		f, err := openRecording(path)
		if errors.Is(err, syscall.EMFILE) {
			return nil, fmt.Errorf("read %d recordings at once: this process may not open more than %d files: name fewer, or raise the limit (ulimit -n)", len(paths), len(r.files))
		}
		if err != nil {
			return nil, fmt.Errorf("read the recording %s: %w", path, err)
		}
		r.files = append(r.files, &recording{recordedFile: f, path: path, sites: map[uint32]*Site{}, index: len(r.files)})
		r.files[len(r.files)-1].learn(r)
	}
	return r, nil
}

// openRecording opens a file of either kind.
func openRecording(path string) (recordedFile, error) {
	if tracefile.Is(path) {
		f, err := tracefile.Open(path)
		if err != nil {
			return nil, err
		}
		return traceFile{f}, nil
	}
	f, err := ring.OpenRecording(path)
	if err != nil {
		return nil, err
	}
	return flightRecorder{f}, nil
}

// KeepStacks has the stacks of records kept, for Stack. It returns which of the files has none, and
// why; nil if all have stacks.
func (r *Recordings) KeepStacks() error {
	r.stacks = newSavedStacks()
	for _, f := range r.files {
		if err := f.lacksStacks(); err != nil {
			return fmt.Errorf("%s has no stacks: %w", f.path, err)
		}
	}
	return nil
}

func (r *Recordings) Rounds() uint64 { return 0 }

// Stack returns the stack of a number in records, nil if it is not kept any more.
func (r *Recordings) Stack(number uint64) *event.Stack { return r.stacks.of(number) }

// AddFaults adds to all what conditions could not read.
func (r *Recordings) AddFaults(all map[query.Fault]uint64) { r.filter.Faults.AddTo(all) }

// Fits has no objection: files have functions as well as probes.
func (r *Recordings) Fits(*selector.Selector) error { return nil }

// Search returns the recorded sites that selectors name. There is no other search.
func (r *Recordings) Search(_ context.Context, selectors []selector.Selector, _ func() (*discover.Search, discover.Sites, error)) (*discover.Search, discover.Sites, error) {
	var probes []reader.Probe
	var all []recordedSite
	var damaged error
	for _, file := range r.files {
		some, sites, err := file.find(file.path)
		if err != nil {
			damaged = fmt.Errorf("read the recording %s: %w", file.path, err)
		}
		for i := range sites {
			sites[i].file = file
		}
		probes, all = append(probes, some...), append(all, sites...)
	}
	if len(probes) == 0 && damaged != nil {
		return nil, nil, damaged
	}
	search, found, which, err := discover.Among(selectors, probes, "in the recordings")
	for _, i := range which {
		r.found = append(r.found, all[i])
	}
	return search, found, err
}

// Scan finds nothing: files have all their sites from the start.
func (r *Recordings) Scan(*discover.Search) ([]discover.Owner, bool, error) { return nil, false, nil }

// Begun and Leave concern processes, which need not live.
func (r *Recordings) Begun()                 {}
func (r *Recordings) Leave([]discover.Owner) {}

// With returns the files: nothing else has events beside them.
func (r *Recordings) With(Source) (Source, error) { return r, nil }

// Claim says of the sites of a plan what the files have of them.
func (r *Recordings) Claim(_ context.Context, plan site.Plan, _ func(pid int)) (site.Plan, error) {
	for i := range plan {
		s, at := &plan[i], &r.found[i]
		s.Local, s.Path, s.Offset, s.Recorded = true, s.Probe.Path, s.Probe.Offset, at.Recorded
		if s.Probe.Live != nil {
			s.PID = s.Probe.Live.PID
		}
	}
	return plan, nil
}

// Watch has the sites of a plan read, and no others.
func (r *Recordings) Watch(_ context.Context, plan site.Plan, schemas []*bind.Schema, numbers []int) {
	for i := range plan {
		if at := &r.found[i]; schemas[i] != nil {
			at.file.sites[at.number] = &Site{Number: uint32(numbers[i]), Schema: schemas[i], Sampled: new(uint64)}
			plan[i].Attached = true
		}
	}
}

func (r *Recordings) Next(buf []byte) (rec []byte, more bool, err error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	for !r.stopped.Load() {
		f := r.earliest()
		if f == nil {
			break
		}
		rec, ok := r.admit(f, append(buf[:0], f.waiting...))
		r.advance()
		if ok {
			return rec, true, nil
		}
		buf = rec
	}
	return nil, false, ErrEnd
}

// admit gives a record, which is the one that waits, the numbers that its site and its stack
// have in the tracing. It reports whether
// the record is one that is read, and passes its condition.
func (r *Recordings) admit(f *recording, rec []byte) ([]byte, bool) {
	at := f.sites[record.Record(rec).Site()]
	if at == nil {
		return rec, false
	}
	r.st.Fired++
	if slot := at.Schema.Group - 1; slot >= 0 {
		r.groups.replace(f, rec, slot)
	}
	binary.NativeEndian.PutUint32(rec[record.Site:], at.Number)
	if r.tests && !(r.filter.Passes(at.Schema.Computed, rec) && at.sample(r.sample)) {
		r.st.Filtered++
		return rec, false
	}
	if st := &at.Schema.Layout.Stack; st.Saved {
		st.SetNumber(rec, r.stacks.keep(f, st.Number(rec)))
	}
	if wide, narrow := at.Schema.Computed, at.Schema.Sig; r.tests && narrow.Limit < wide.Limit {
		rec = wide.Shorten(rec, narrow.Limit)
	}
	return rec, true
}

// earliest returns the file with the earliest record, nil if there are no more.
func (r *Recordings) earliest() *recording {
	if !r.begun {
		r.begun = true
		for _, f := range r.files {
			f.pull, f.stop = iter.Pull2(f.Records())
			f.read(r)
			if f.waiting != nil {
				r.merge = append(r.merge, f)
			}
		}
		heap.Init(&r.merge)
	}
	if len(r.merge) == 0 {
		return nil
	}
	return r.merge[0]
}

// advance reads the next record of the earliest file.
func (r *Recordings) advance() {
	f := r.merge[0]
	f.read(r)
	if f.waiting == nil {
		heap.Pop(&r.merge)
		return
	}
	heap.Fix(&r.merge, 0)
}

// read reads the next record of the file.
func (f *recording) read(r *Recordings) {
	rec, err, ok := f.pull()
	f.learn(r)
	switch {
	case !ok:
		f.waiting = nil
	case err != nil:
		f.waiting = nil
		r.fail(fmt.Errorf("read the recording %s: %w", f.path, err))
	default:
		f.waiting = rec
	}
}

// learn notes which losses are known since the last call.
func (f *recording) learn(r *Recordings) {
	if all := f.losses(); len(all) > f.known {
		r.Lost.know(all[f.known:])
		f.known = len(all)
	}
}

// byTime is a heap of files by the times of their next records, and then by their order.
type byTime []*recording

func (h byTime) Len() int { return len(h) }
func (h byTime) Less(i, j int) bool {
	a, b := h[i].waiting.Time(), h[j].waiting.Time()
	return a < b || a == b && h[i].index < h[j].index
}
func (h byTime) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *byTime) Push(x any)   { *h = append(*h, x.(*recording)) }
func (h *byTime) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (r *Recordings) Nap() {} // nothing is written any more

func (r *Recordings) Available() bool {
	r.reading.Lock()
	defer r.reading.Unlock()
	return !r.stopped.Load() && r.earliest() != nil
}

func (r *Recordings) Stop() error {
	r.stopped.Store(true)
	return nil
}

func (r *Recordings) Drain() (n uint64) {
	r.reading.Lock()
	defer r.reading.Unlock()
	var buf []byte
	for f := r.earliest(); f != nil; f = r.earliest() {
		var ok bool
		if buf, ok = r.admit(f, append(buf[:0], f.waiting...)); ok {
			n++
		}
		r.advance()
	}
	return n
}

// Dropped returns none: a file says itself when events were lost.
func (r *Recordings) Dropped() (uint64, error) { return 0, nil }

// Counts returns the numbers of the records that have been read. Records that the
// recorders have lost may belong to any probe.
func (r *Recordings) Counts() (Counts, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	st := r.st
	for _, f := range r.files {
		st.add(f.stats())
	}
	return st, nil
}

func (r *Recordings) Close() error {
	r.reading.Lock()
	defer r.reading.Unlock()
	var errs []error
	for _, f := range r.files {
		if f.stop != nil {
			f.stop()
			f.waiting = nil
		}
		errs = append(errs, f.Close())
	}
	r.files, r.merge = nil, nil
	return errors.Join(errs...)
}
