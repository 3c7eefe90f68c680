package traps

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Traps measures what a hit of a site takes on this machine without the work of a program: the
// trap into the kernel, finding what is attached, and the way back.
type Traps struct {
	code  *Code
	known map[trap]time.Duration
}

// trap is what decides how long one takes.
type trap struct {
	first string // the function with such an instruction
	ret   bool   // at its return
}

// trapTime is how long a kind of site is measured, in so many tries of which the fastest counts.
const (
	trapTime  = 60 * time.Millisecond
	trapTries = 3
)

// New prepares the measurement of sites.
func New() (*Traps, error) {
	c, err := NewCode()
	if err != nil {
		return nil, err
	}
	return &Traps{c, map[trap]time.Duration{}}, nil
}

func (t *Traps) Close() error { return t.code.Close() }

// Trapped says what is hit.
type Trapped struct {
	Kind        notes.SiteKind
	Instruction []byte // of a site that is SiteOther
	Return      bool   // the return from a function that begins so
	Loop        bool   // the site is part of a loop
}

// Of returns the CPU time of a hit. It measures each kind of site once, in trapTime. A trap makes the
// processor forget where functions return to, so that a site in a loop is cheaper than one in a function
// that is called.
func (t *Traps) Of(ctx context.Context, s Trapped) (time.Duration, error) {
	kind := trap{likeness(s.Kind, s.Instruction), s.Return}
	if kind.first == "nop" && s.Loop && slices.ContainsFunc(functions, isLoop) {
		kind.first = loopName
	}
	if d, ok := t.known[kind]; ok {
		return d, nil
	}
	of := (*reader.Function).Entry
	if s.Return {
		of = (*reader.Function).Return
	}
	attached, err := t.code.Attach(kind.first, of)
	if err != nil {
		return 0, fmt.Errorf("measure a trap at %s: %w", kind.first, err)
	}
	d := time.Duration(math.MaxInt64)
	for range trapTries { // others on the machine disturb some
		d = min(d, took(ctx, t.code.Calls(kind.first), trapTime/trapTries))
	}
	if err := cmp.Or(attached.Close(), context.Cause(ctx)); err != nil {
		return 0, fmt.Errorf("measure a trap at %s: %w", kind.first, err)
	}
	t.known[kind] = d
	return d, nil
}

// batchTime is about how long a loop goes round at a time: the runtime cannot stop its thread meanwhile.
const batchTime = 100 * time.Microsecond

// took returns the CPU time of one round of a loop that goes round for some CPU time.
func took(ctx context.Context, loop func(n int), bound time.Duration) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rounds, batch := 0, 1
	began := sys.ThreadTime()
	for ctx.Err() == nil {
		before := sys.ThreadTime()
		loop(batch)
		now := sys.ThreadTime()
		if rounds += batch; now-began >= bound {
			return (now - began) / time.Duration(rounds)
		}
		if now-before < batchTime {
			batch *= 2
		}
	}
	return bound
}
