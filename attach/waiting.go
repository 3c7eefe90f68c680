package attach

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach/internal/clock"
	"github.com/go-usdt/usdt/internal/record"
)

// Waiting returns the starts that have waited longer than this for their ends, the longest first:
// what hangs. Such a [Pair] has no End, whose Probe is nil, and Took is the time until now; after
// [Pairs.Stop], until Stop was called, since later ends are not seen; in recordings, until their last
// event that was read. Starts that do not pass the conditions that apply to them are left out.
// It can be called until [Pairs.Close], and from another goroutine than All.
// Starts that come through shared memory or from recordings are known once All has read them.
func (p *Pairs) Waiting(longer time.Duration) ([]Pair, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("the session is %w", ErrClosed)
	}
	latest, err := p.asOf()
	if err != nil {
		return nil, fmt.Errorf("read the clock of starts: %w", err)
	}
	d := p.decoder()
	var all []Pair
	add := func(at uint64, rec record.Record) error {
		if at > latest || latest-at <= uint64(longer) {
			return nil
		}
		binary.NativeEndian.PutUint64(rec[record.Time:], at)
		start, err := d.Decode(p.shorten(rec))
		if start.Probe == nil {
			return err
		}
		all = append(all, Pair{Start: start, Took: time.Duration(latest - at)})
		return nil
	}
	if p.tally != nil {
		err = p.tally.EachWaiting(add)
	}
	if p.programs != nil && p.programs.maps != nil {
		err = cmp.Or(err, p.programs.maps.EachWaiting(add))
	}
	slices.SortStableFunc(all, func(a, b Pair) int { return cmp.Compare(b.Took, a.Took) })
	return all, err
}

// asOf returns the time until which starts have waited.
func (p *Pairs) asOf() (uint64, error) {
	if p.options.Target.Via == ViaRecording {
		return p.latest.Load(), nil
	}
	if stopped := p.stopping.Load(); stopped != 0 {
		return stopped, nil
	}
	now, err := clock.Now()
	if err != nil {
		return 0, err
	}
	return now(), nil
}

// Waiting returns how many starts have waited longer than this for their ends: what hangs. Calls that
// the kernel matches itself are not among them (see [LatencyOptions.MaxPending]), nor starts that
// come through shared memory or from recordings, or do not pass the conditions that apply to them.
func (l *Latency) Waiting(longer time.Duration) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, fmt.Errorf("the aggregate is %w", ErrClosed)
	}
	if l.programs == nil || l.programs.maps == nil {
		return 0, nil
	}
	now, err := clock.Now()
	if err != nil {
		return 0, fmt.Errorf("read the clock of starts: %w", err)
	}
	at := now()
	return l.programs.maps.Waiting(at - min(at, uint64(max(longer, 0)))) // the machine may be younger
}
