package attach

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/clock"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// queue is a source whose records are waiting from the start.
type queue struct {
	records [][]byte
	failing error // instead of the end
	calls   []string
}

func (q *queue) Next(buf []byte) ([]byte, bool, error) {
	if len(q.records) == 0 {
		if q.failing != nil {
			return nil, false, q.failing
		}
		return nil, false, source.ErrEnd
	}
	rec := append(buf[:0], q.records[0]...)
	q.records = q.records[1:]
	return rec, len(q.records) > 0, nil
}

func (q *queue) Nap()                             { q.calls = append(q.calls, "nap") }
func (q *queue) Available() bool                  { return len(q.records) > 0 }
func (q *queue) Stop() error                      { q.calls = append(q.calls, "stop"); return nil }
func (q *queue) Close() error                     { q.calls = append(q.calls, "close"); return nil }
func (q *queue) Rounds() uint64                   { return 0 }
func (q *queue) AddFaults(map[query.Fault]uint64) {}
func (q *queue) Drain() uint64 {
	n := len(q.records)
	q.records = nil
	return uint64(n)
}
func (q *queue) Counts() (source.Counts, error) {
	return source.Counts{Fired: 7, Lost: 2, Filtered: 1}, nil
}

// queued returns a session of four records that no program has written. The last
// one's site does not exist.
func queued(t *testing.T) (*Session, *queue) {
	q := &queue{}
	for i := range 4 {
		rec := make([]byte, record.Slot(1))
		binary.NativeEndian.PutUint64(rec[record.Time:], uint64(100+i))
		binary.NativeEndian.PutUint64(rec[record.Slot(0):], uint64(10+i))
		q.records = append(q.records, rec)
	}
	q.records[3][record.Site] = 9
	sig := &query.Signature{Layout: record.Layout{Slots: 1}}
	sc := bind.NewSchema(sig)
	sc.Fields = []shape.Field{{Name: "n", Source: shape.FromRecord, Kind: reader.Uint, Size: 8, Offset: record.Slot(0)}}
	s := &Session{stream: stream{clock: clock.Fixed()}}
	s.options = &settings{}
	s.attached, s.cancel, s.source = site.Unattached(nil), func() {}, q
	s.sites.Store(s.sites.Load().With(site.Plan{{}}, []*bind.Schema{sc}, []int{0}, nil))
	t.Cleanup(func() { s.Close() })
	return s, q
}

// TestSource reads a session whose records come from a queue, without a
// privilege: as events, as views, and not at all.
func TestSource(t *testing.T) {
	s, q := queued(t)
	var got []string
	for ev, err := range s.Events() {
		got = append(got, fmt.Sprint(ev.Time.UnixNano(), ev.Args, err))
		if len(got) == 2 {
			break // another call goes on
		}
	}
	if s.Idle() {
		t.Error("the session is idle while records wait")
	}
	for v, err := range s.Views() {
		if v == nil {
			got = append(got, err.Error())
			continue
		}
		n, ok := v.Lookup("n")
		got = append(got, fmt.Sprint(v.Time().Sub(time.Unix(0, 0)), n.Uint(), ok, err))
	}
	want := []string{"100 [{n 10 <nil>}] <nil>", "101 [{n 11 <nil>}] <nil>", "102ns 12 true <nil>", "event of site 9, which is not traced"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !s.Idle() {
		t.Error("the session is not idle at the end")
	}
	if st, err := s.Stats(); err != nil || st != (Stats{Fired: 7, Received: 4, Lost: 2, Filtered: 1}) {
		t.Errorf("stats %+v, %v", st, err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	for ev, err := range s.Events() {
		t.Errorf("event %v, %v after the end", ev, err)
	}
	if err := s.Close(); err != nil || fmt.Sprint(q.calls) != "[stop stop close]" {
		t.Errorf("close: %v, calls %v", err, q.calls)
	}

	s, _ = queued(t)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if st, err := s.Stats(); err != nil || st != (Stats{Fired: 7, Lost: 2, Filtered: 1, Unread: 4}) {
		t.Errorf("when nobody reads: stats %+v, %v", st, err)
	}
}

// TestSourceFails checks that an error of a source ends a session's events.
func TestSourceFails(t *testing.T) {
	s, q := queued(t)
	q.records, q.failing = nil, errors.New("the source is gone")
	var got []error
	for _, err := range s.Events() {
		got = append(got, err)
	}
	if len(got) != 1 || got[0] != q.failing {
		t.Errorf("got %v, want %v", got, q.failing)
	}
}

// single is a queue that gives one record after the other, as if the next had just come.
type single struct{ *queue }

func (q single) Next(buf []byte) ([]byte, bool, error) {
	rec, _, err := q.queue.Next(buf)
	q.calls = append(q.calls, "next")
	return rec, false, err
}

// TestNap checks that the reader of a fast stream tells the source that it looks again by
// itself, after it has read everything, and that the reader of a buffer without room for
// that does not.
func TestNap(t *testing.T) {
	const room, records = 4 << 20, 200
	for _, room := range []int{room, 0} {
		s, q := queued(t)
		for range records {
			q.records = append([][]byte{q.records[0]}, q.records...)
		}
		s.room, s.source = room, single{q}
		for range s.Events() {
		}
		naps := 0
		for i, call := range q.calls {
			if call == "nap" {
				if naps++; q.calls[i-1] != "next" {
					t.Errorf("call %d, in front of a nap, is %s", i-1, q.calls[i-1])
				}
			}
		}
		if naps > 0 != (room > 0) {
			t.Errorf("a buffer of %d bytes: %d naps", room, naps)
		}
	}
}

// TestDamagedPairs reads pairs whose records are damaged: each event is counted, as received or
// as unread, and whole pairs are delivered.
func TestDamagedPairs(t *testing.T) {
	session, q := queued(t)
	whole := append(append([]byte(nil), q.records[0]...), q.records[1]...)
	whole = binary.NativeEndian.AppendUint64(whole, 5)
	whole = binary.NativeEndian.AppendUint64(whole, 2)
	whole = binary.NativeEndian.AppendUint64(whole, uint64(len(q.records[1])))
	with := func(at int, value byte) []byte {
		rec := append([]byte(nil), whole...)
		rec[at] = value
		return rec
	}
	for _, test := range []struct {
		name             string
		rec              []byte
		pairs            int
		received, unread uint64
	}{
		{"whole", whole, 1, 2, 0},
		{"no header", whole[:record.HeaderSize-1], 0, 0, 2},
		{"no footer", whole[:record.HeaderSize], 0, 0, 2},
		{"a start that is too short", with(len(whole)-8, 1), 0, 0, 2},
		{"a start that is too long", with(len(whole)-7, 9), 0, 0, 2},
		{"an end of no site", with(record.Site, 9), 0, 0, 2},
		{"a start of no site", with(len(q.records[0])+record.Site, 9), 0, 0, 2},
	} {
		p := &Pairs{stream: stream{clock: session.clock, paired: true}}
		p.layout = &bind.Layout{Pairs: &bind.PairLayout{Whole: true}}
		p.attached, p.cancel, p.source, p.options = site.Unattached(nil), func() {}, &queue{records: [][]byte{test.rec}}, &settings{}
		p.sites.Store(session.sites.Load())
		pairs := 0
		for pair, err := range p.All() {
			if err == nil {
				pairs++
			} else if pair.Start.Probe != nil && pair.End.Probe != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		}
		if received, unread := p.received.Load(), p.unread.Load(); pairs != test.pairs || received != test.received || unread != test.unread {
			t.Errorf("%s: %d pairs, %d received, %d unread, want %+v", test.name, pairs, received, unread, test)
		}
	}
}
