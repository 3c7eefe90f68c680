package attach

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// OptionError says which option cannot be used or would have no effect.
type OptionError struct {
	Option string // the name of the field
	Err    error
}

func (e *OptionError) Error() string { return "option " + e.Option + ": " + e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// optionUse says which values of options mean something at any of the sites
// that were found first.
type optionUse struct {
	texts  []textArg // of Options.Strings
	follow []string

	bound      bool // a site has been seen
	usesText   []bool
	usesFollow []bool
	noText     []error // why the first probe has no such text
	typed      bool    // a probe has types
}

func newOptionUse(o *settings) *optionUse {
	n := len(o.Strings)
	return &optionUse{
		texts: o.texts[:n:n], follow: o.Follow,
		usesText: make([]bool, n), noText: make([]error, n), usesFollow: make([]bool, len(o.Follow)),
	}
}

// see takes note of a bound probe.
func (u *optionUse) see(sc *schema, p *reader.Probe) {
	if u == nil {
		return
	}
	u.bound = true
	u.typed = u.typed || p.Type != nil
	for i := range u.texts {
		t := &u.texts[i]
		if t.probes != nil && !t.probes.Match(p.Path, p.Provider, p.Name) {
			continue
		}
		if err := textOf(sc, p, t); err == nil {
			u.usesText[i] = true
		} else if u.noText[i] == nil {
			u.noText[i] = err
		}
	}
}

// textOf returns why an argument is not read as text, nil if it is.
func textOf(sc *schema, p *reader.Probe, t *textArg) error {
	if p.Type != nil {
		return fmt.Errorf("%s has typed arguments, whose text is known without", site.Name(p))
	}
	fields := slices.Concat(sc.Fields, sc.Looked)
	i := slices.IndexFunc(fields, func(f shape.Field) bool { return f.Name == t.arg })
	switch {
	case i < 0 && len(fields) == 0:
		return fmt.Errorf("%s has no arguments", site.Name(p))
	case i < 0:
		return fmt.Errorf("%s has no argument %s, but %s to %s", site.Name(p), t.arg, fields[0].Name, fields[len(fields)-1].Name)
	case t.length != "" && lengthArg(p, t.length) == nil:
		return fmt.Errorf("%s has no argument %s that could be a length", site.Name(p), t.length)
	case fields[i].Source == shape.FromString || fields[i].Err != nil:
		return nil // of the latter, events hold the reason
	}
	return fmt.Errorf("argument %s of %s is no pointer", t.arg, site.Name(p))
}

// check returns the error in an option that none of the probes has a use for.
func (u *optionUse) check() error {
	if !u.bound {
		return nil
	}
	for i, used := range u.usesText {
		if used {
			continue
		}
		err := u.noText[i]
		if err == nil {
			err = errors.New("it names none of the probes that are traced")
		}
		return &OptionError{"Strings", err}
	}
	for i, used := range u.usesFollow {
		switch {
		case used:
		case !u.typed:
			return &OptionError{"Follow", fmt.Errorf("%q: none of the probes has types, which say where pointers lead", u.follow[i])}
		default:
			return &OptionError{"Follow", fmt.Errorf("no probe has a pointer %q that could be followed", u.follow[i])}
		}
	}
	return nil
}

// fits returns the error in arguments of functions that nothing the selectors
// name has.
func (a *functionArgs) fits(selectors []selector.Selector) error {
	fail := func(format string, args ...any) error { return &OptionError{"Args", fmt.Errorf(format, args...)} }
	has := func(k selector.Kind) bool {
		return slices.ContainsFunc(selectors, func(s selector.Selector) bool { return s.Kind == k })
	}
	_, result := a.types[retval]
	switch entry, ret := has(selector.Uprobe), has(selector.Uretprobe); {
	case a.given && !entry && !ret:
		return fail("it names arguments of functions, and USDT probes say themselves what they have")
	case (a.result || result) && !ret:
		return fail("a function has no retval at its entry: trace uretprobe:PATH:FUNC")
	case (len(a.names) > 0 || a.given && !a.all && !a.result) && !entry:
		return fail("a function has no arguments when it returns, but retval")
	}
	return nil
}
