package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Traps measures what a hit of a site takes on this machine without the work of a program: the
// trap into the kernel, finding what is attached, and the way back.
type Traps struct {
	code  *code
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

// NewTraps prepares the measurement of sites.
func NewTraps() (*Traps, error) {
	c, err := newCode()
	if err != nil {
		return nil, err
	}
	return &Traps{c, map[trap]time.Duration{}}, nil
}

func (t *Traps) Close() error { return t.code.close() }

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
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == kind.first })
	of := (*reader.Function).Entry
	if s.Return {
		of = (*reader.Function).Return
	}
	r, err := functions[i].probe(of)(ctx, &machine{code: t.code})
	if err != nil {
		return 0, fmt.Errorf("measure a trap at %s: %w", kind.first, err)
	}
	hits := 0.0
	for range trapTries { // others on the machine disturb some
		often, _ := rate(ctx, &r, 1, trapTime/trapTries/(parts+1))
		hits = max(hits, often)
	}
	if _, err := r.end(); err != nil || hits == 0 {
		return 0, fmt.Errorf("measure a trap at %s: %w", kind.first, errors.Join(err, context.Cause(ctx)))
	}
	d := time.Duration(1e9 / hits)
	t.known[kind] = d
	return d, nil
}
