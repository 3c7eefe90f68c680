package providertest

import (
	"context"
	"errors"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/internal/tap"
	"github.com/go-usdt/usdt/provider"
)

// Recorder holds what the probes of a provider fired. Make one with [Record]. Any
// number of goroutines may use it at once.
type Recorder struct {
	t        testing.TB
	provider string
	mark     string // of the goroutines that the test has started
	maker    string // the goroutine that called Record

	mu     sync.Mutex
	source tap.Source
	fired  []firing
}

// firing is one firing of a probe.
type firing struct {
	event     Event
	goroutine string
	bubble    string // of testing/synctest, "" for none
	marks     string // of recorders
}

// Record records what the probes of p fire until the test and its subtests have
// ended. It includes probes that are declared later. Meanwhile the probes count as
// watched: Enabled of each, of their groups and of p returns true.
//
// If a declaration is wrong, the test fails at once with the error that Load would
// return. If a later declaration is wrong, the test fails when it ends. On an
// architecture without probes, the test is skipped.
func Record(t testing.TB, p *provider.Provider) *Recorder {
	t.Helper()
	r := &Recorder{t: t, provider: p.Name(), mark: newMark()}
	r.mu.Lock() // no firing is noted before there is a source
	defer r.mu.Unlock()
	source, err := listen(p, r.note)
	switch {
	case errors.Is(err, provider.ErrNotSupported):
		t.Skipf("record provider %q: %v", r.provider, err)
	case err != nil:
		t.Fatalf("record provider %q: %v", r.provider, err)
	}
	r.source = source
	before := here()
	r.maker, _ = goroutine()
	pprof.SetGoroutineLabels(withMark(before, r.mark))
	t.Cleanup(func() {
		source.Stop()
		if now, _ := goroutine(); now == r.maker {
			pprof.SetGoroutineLabels(before)
		}
		if err := p.Check(); err != nil {
			t.Errorf("record provider %q: %v", r.provider, err)
		}
	})
	return r
}

// Context returns a context that makes work the test's own, see [Recorder.Own]: the work
// of goroutines on which [pprof.Do] or [pprof.SetGoroutineLabels] is called with the
// context or one derived from it, and of the goroutines that they start.
func (r *Recorder) Context(ctx context.Context) context.Context { return withMark(ctx, r.mark) }

// note records a firing. The goroutine that fires calls it.
func (r *Recorder) note(f tap.Fired) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Memory that is not readable fails its argument, see counted.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	n := firing{marks: marks(here())}
	n.goroutine, n.bubble = goroutine()
	n.event = Event{
		Time: time.Now().Round(0), PID: pid, TID: tid(), Comm: comm,
		Provider: r.provider, Name: f.Name, Args: decode(f.Type, f.Block),
	}
	r.fired = append(r.fired, n)
}

// Events returns what the probe with this name fired, in the order of firing. If the
// provider has no such probe, the test fails at once.
func (r *Recorder) Events(name string) []Event {
	r.t.Helper()
	return r.of(name, func(*firing) bool { return true })
}

// Own returns the events of [Recorder.Events] that the test itself caused. Tests that run in
// parallel see what any of them fires, and Own separates their events. It returns what these
// goroutines fire:
//
//   - the goroutine that calls Own,
//   - all goroutines of the testing/synctest bubble in which Own is called,
//   - if Own is called on the goroutine that called Record: all goroutines started from it
//     since, directly or by others, such as a server of the test with its connections,
//   - if Own is called on that goroutine: all goroutines that work with a [Recorder.Context].
//
// Own cannot know for which test other goroutines fire: goroutines of a server or of workers
// that tests share, unless they take the labels of a request's context, and timers outside of
// bubbles.
func (r *Recorder) Own(name string) []Event {
	r.t.Helper()
	own, bubble := goroutine()
	return r.of(name, func(f *firing) bool {
		return f.goroutine == own || bubble != "" && f.bubble == bubble || own == r.maker && marked(f.marks, r.mark)
	})
}

// All returns what all probes of the provider fired, in the order of firing.
func (r *Recorder) All() []Event {
	return r.events(func(*firing) bool { return true })
}

// Reset discards what was recorded.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fired = nil
}

// of returns the wanted events of a probe.
func (r *Recorder) of(name string, wanted func(*firing) bool) []Event {
	r.t.Helper()
	if names := r.source.Names(); !slices.Contains(names, name) {
		r.t.Fatalf("provider %q has no probe %q%s", r.provider, name, r.instead(name, names))
	}
	return r.events(func(f *firing) bool { return f.event.Name == name && wanted(f) })
}

// events returns copies of the wanted events.
func (r *Recorder) events(wanted func(*firing) bool) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := []Event{}
	for i := range r.fired {
		if f := &r.fired[i]; wanted(f) {
			ev := f.event
			ev.Args = clone(ev.Args)
			events = append(events, ev)
		}
	}
	return events
}

// instead suggests the probe that a wrong name may have meant, or lists the existing ones.
func (r *Recorder) instead(name string, names []string) string {
	best := spelling.Nearest(name, names)
	switch {
	case best != "":
		return ", but " + best
	case len(names) == 0:
		return ", nor any other"
	}
	return ", but " + strings.Join(names, ", ")
}
