package attach

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/reader"
)

// Aggregate is a set of probes whose events the kernel adds up.
type Aggregate struct {
	tracing
	epoch uint64 // the index of maps.groups that programs update
	done  context.Context
}

// Group is what the events with equal [Aggregation.By] came to.
type Group struct {
	By    []Arg // named as in Aggregation.By
	Count uint64

	// As Aggregation asks for. Sum, Min and Max are int64 or uint64 as the
	// argument is signed or not, and float64 of a floating-point number; Avg
	// is a float64. They are nil if not asked for. The sum of integers is taken modulo 2^64, that of
	// floating-point numbers in units of 2^-20; those beyond 2^43 are lost.
	Sum, Avg, Min, Max any
	Hist               []Bucket // from the first with values to the last
}

// OpenAggregate attaches as OpenAll does, to have the kernel aggregate events
// instead of recording them; what may be nil, to count them. Probes
// that lack an argument, or have it with another type than those found first, are
// left out, as [Site.Reason] says; it is an error if none of a selector is left.
func OpenAggregate(selectors []string, what *Aggregation, opts *Options) (*Aggregate, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if what == nil {
		what = &Aggregation{}
	}
	if err := what.check(); err != nil {
		return nil, err
	}
	return openAggregate(selectors, &o, &aggregateLayout{wanted: *what})
}

func openAggregate(selectors []string, o *Options, layout *aggregateLayout) (*Aggregate, error) {
	a := &Aggregate{}
	if err := a.open(selectors, o, layout); err != nil {
		a.release()
		return nil, err
	}
	return a, nil
}

func (a *Aggregate) open(selectors []string, o *Options, layout *aggregateLayout) error {
	if err := a.attach(selectors, o, layout, func(*maps) error { return nil }); err != nil {
		return err
	}
	done, cancel := context.WithCancel(context.Background())
	a.done = done
	a.watch(o, func() error {
		defer cancel()
		return a.Stop()
	})
	return nil
}

// Stop detaches from all sites. What has fired until then can still be read.
func (a *Aggregate) Stop() error { return a.attached.Close() }

// Done is closed when Options.Context is done or all of Options.PIDs have
// ended, and the sites have been left.
func (a *Aggregate) Done() <-chan struct{} { return a.done.Done() }

// Read returns what has fired since the last call, the largest groups first.
// Every event is in the result of exactly one call: the kernel changes over to
// new groups, and Read waits for the programs that were still at the old ones.
func (a *Aggregate) Read() ([]Group, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errors.New("the aggregate is closed")
	}
	groups, err := a.takeLocked()
	for i := range groups {
		a.received.Add(groups[i].Count)
	}
	return groups, err
}

// Close detaches and frees everything. What has not been read counts as
// unread. The error is also one for which tracing ended early, or for which
// sites found by a rescan could not be left. Calling it again is safe.
func (a *Aggregate) Close() error {
	a.cancel() // of a rescan, too
	err := a.Stop()
	a.watches.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return err
	}
	rest, readErr := a.takeLocked()
	for i := range rest {
		a.unread.Add(rest[i].Count)
	}
	if a.stopErr != nil && !errors.Is(err, a.stopErr) {
		err = errors.Join(a.stopErr, err)
	}
	err = errors.Join(err, readErr, a.finishLocked())
	a.release()
	return err
}

// maxLinger is how long a program may be kept from its end, by a page that it
// waits for.
const maxLinger = 30 * time.Second

// takeLocked exchanges the maps and empties the one that was in use.
func (a *Aggregate) takeLocked() ([]Group, error) {
	if !a.layout.made {
		return nil, nil
	}
	old := a.epoch
	if err := a.maps.control.Put(uint32(0), 1-old); err != nil {
		return nil, fmt.Errorf("exchange groups: %w", err)
	}
	a.epoch = 1 - old
	for start, pause := time.Now(), 20*time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		busy, err := a.maps.busy(old)
		if err != nil {
			return nil, err
		}
		if !busy {
			break
		}
		if time.Since(start) > maxLinger {
			return nil, fmt.Errorf("exchange groups: a program has been running for %v", maxLinger)
		}
		time.Sleep(pause)
	}
	return a.readGroups(a.maps.groups[old])
}

// readGroups reads and empties a map that nobody updates.
func (a *Aggregate) readGroups(m *ebpf.Map) ([]Group, error) {
	sums := map[string][]uint64{}
	var order []string
	add := func(key []byte, perCPU [][]byte) {
		k := a.canonical(key)
		sum := sums[k]
		if sum == nil {
			sum = make([]uint64, a.layout.words())
			sums[k], order = sum, append(order, k)
		}
		for _, words := range perCPU {
			merge(sum, words)
		}
	}
	if a.layout.keySize == 0 {
		var perCPU [][]byte
		if err := m.Lookup(uint32(0), &perCPU); err != nil {
			return nil, fmt.Errorf("read groups: %w", err)
		}
		add(nil, perCPU)
		for _, words := range perCPU {
			clear(words)
		}
		if err := m.Put(uint32(0), perCPU); err != nil {
			return nil, fmt.Errorf("empty groups: %w", err)
		}
	} else {
		var keys [][]byte
		key, perCPU := make([]byte, a.layout.keySize), [][]byte(nil)
		entries := m.Iterate()
		for entries.Next(&key, &perCPU) {
			keys = append(keys, slices.Clone(key))
			add(key, perCPU)
		}
		if err := entries.Err(); err != nil {
			return nil, fmt.Errorf("read groups: %w", err)
		}
		for _, key := range keys {
			if err := m.Delete(key); err != nil {
				return nil, fmt.Errorf("empty groups: %w", err)
			}
		}
	}
	var groups []Group
	for _, k := range order {
		if sums[k][wordCount] > 0 {
			groups = append(groups, a.layout.group([]byte(k), sums[k], a.sites.Load().probes))
		}
	}
	slices.SortStableFunc(groups, func(x, y Group) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), strings.Compare(fmt.Sprint(x.By), fmt.Sprint(y.By)))
	})
	return groups, nil
}

// canonical makes keys of one probe's sites equal.
func (a *Aggregate) canonical(key []byte) string {
	for _, part := range a.layout.parts {
		if part.in.source != inputProbe {
			continue
		}
		b := key[part.offset:]
		site := binary.NativeEndian.Uint64(b)
		probes := a.sites.Load().probes
		for i, p := range probes {
			if q := probes[site]; p.Provider == q.Provider && p.Name == q.Name && p.Kind == q.Kind {
				binary.NativeEndian.PutUint64(b, uint64(i))
				break
			}
		}
	}
	return string(key)
}

// merge adds a CPU's words to the sum.
func merge(sum []uint64, words []byte) {
	for i := range sum {
		v := binary.NativeEndian.Uint64(words[8*i:])
		if i == wordMin || i == wordMax {
			sum[i] = max(sum[i], v)
		} else {
			sum[i] += v
		}
	}
}

// group decodes a key and its words.
func (l *aggregateLayout) group(key []byte, words []uint64, probes []*reader.Probe) Group {
	g := Group{Count: words[wordCount]}
	for i, part := range l.parts {
		g.By = append(g.By, part.decode(l.wanted.By[i], key[part.offset:part.offset+part.size], probes))
	}
	kind := l.value.kind
	var sum any = words[wordSum]
	avg := float64(words[wordSum])
	switch i := int64(words[wordSum]); kind {
	case reader.Float:
		avg = math.Ldexp(float64(i), -sumFraction)
		sum = avg
	case reader.Int:
		sum, avg = i, float64(i)
	}
	if l.wanted.Sum {
		g.Sum = sum
	}
	if l.wanted.Avg {
		g.Avg = avg / float64(g.Count)
	}
	if l.wanted.Min {
		g.Min = unorder(^words[wordMin], kind, l.value.size)
	}
	if l.wanted.Max {
		g.Max = unorder(words[wordMax], kind, l.value.size)
	}
	g.Hist = l.buckets(words[wordHist:])
	return g
}

// unorder undoes the order of minima and maxima.
func unorder(u uint64, kind reader.FieldKind, size uint8) any {
	if kind != reader.Int && kind != reader.Float {
		return u
	}
	i := int64(u ^ 1<<63)
	if kind == reader.Int {
		return i
	}
	if i < 0 {
		i ^= math.MaxInt64
	}
	if size == 4 {
		return float64(math.Float32frombits(uint32(uint64(i) >> 32)))
	}
	return math.Float64frombits(uint64(i))
}

func (p *groupPart) decode(name string, b []byte, probes []*reader.Probe) Arg {
	arg := Arg{Name: name}
	switch {
	case p.in.source == inputProbe:
		probe := probes[binary.NativeEndian.Uint64(b)]
		arg.Value = nameOf(probe)
	case p.size == keyCommSize:
		arg.Value = unix.ByteSliceToString(b)
	case p.size == keyTextSize:
		n := binary.NativeEndian.Uint64(b)
		text := b[textData:][:min(n, keyText)]
		if n > keyText {
			arg.Err = fmt.Errorf("%w to %d bytes", ErrTruncated, keyText)
		}
		if arg.Value = string(text); p.in.kind == reader.Bytes {
			arg.Value = slices.Clone(text)
		}
	default:
		u := binary.NativeEndian.Uint64(b)
		size := uint8(8)
		if p.in.kind == reader.Float && p.in.size == 4 {
			u, size = u>>32, 4
		}
		arg.Value = value(u, p.in.kind, size)
	}
	return arg
}
