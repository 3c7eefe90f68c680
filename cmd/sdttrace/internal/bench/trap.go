package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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

// trapTime is how long a kind of site is measured.
const trapTime = 60 * time.Millisecond

// NewTraps prepares the measurement of sites.
func NewTraps() (*Traps, error) {
	c, err := newCode()
	if err != nil {
		return nil, err
	}
	return &Traps{c, map[trap]time.Duration{}}, nil
}

func (t *Traps) Close() error { return t.code.close() }

// Of returns the CPU time of a hit of a site whose instruction this is, or of a return from a
// function that begins with it. It measures each kind of site once, in trapTime.
func (t *Traps) Of(ctx context.Context, instruction []byte, ret bool) (time.Duration, error) {
	kind := trap{likeness(instruction), ret}
	if d, ok := t.known[kind]; ok {
		return d, nil
	}
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == kind.first })
	of := (*reader.Function).Entry
	if ret {
		of = (*reader.Function).Return
	}
	r, err := functions[i].probe(of)(ctx, &machine{code: t.code})
	if err != nil {
		return 0, fmt.Errorf("measure a trap at %s: %w", kind.first, err)
	}
	hits, _ := rate(ctx, &r, 1, trapTime/(parts+1))
	if _, err := r.end(); err != nil || hits == 0 {
		return 0, fmt.Errorf("measure a trap at %s: %w", kind.first, errors.Join(err, context.Cause(ctx)))
	}
	d := time.Duration(1e9 / hits)
	t.known[kind] = d
	return d, nil
}
