package bind

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// OptionUse says which values of options have an effect at one of the sites found
// first.
type OptionUse struct {
	strings []StringArg // of Options.Strings
	follow  []string

	bound      bool // a site has been seen
	usesString []bool
	usesFollow []bool
	noFollow   []error // why the first function of the kernel does not have it
	noString   []error // why the first probe has no such string
	typed      bool    // a probe has types

	variables    []string // of Options.Args
	usesVariable []bool
	noVariable   []error // why the first probe lacks each

	usesCast []bool
	noCast   []error
}

// NewOptionUse returns an OptionUse for strings, pointers to follow and arguments of functions,
// before any probe has been seen.
func NewOptionUse(strs []StringArg, follow []string, args *argument.Wanted) *OptionUse {
	n := len(strs)
	variables := slices.DeleteFunc(slices.Clone(args.Names), func(name string) bool { return isArgName(name) || args.OfCast(name) || args.IsCast(name) })
	return &OptionUse{
		usesCast: make([]bool, len(args.Casts)), noCast: make([]error, len(args.Casts)),
		variables: variables, noVariable: make([]error, len(variables)), usesVariable: make([]bool, len(variables)),
		strings: strs[:n:n], follow: follow,
		usesString: make([]bool, n), noString: make([]error, n), usesFollow: make([]bool, len(follow)), noFollow: make([]error, len(follow)),
	}
}

// see notes which values a bound probe uses.
func (u *OptionUse) see(sc *Schema, p *reader.Probe) {
	if u == nil {
		return
	}
	u.bound = true
	u.typed = u.typed || p.Type != nil
	u.seeVariables(sc, p)
	for i := range u.strings {
		t := &u.strings[i]
		if t.probes != nil && !t.probes.Match(p.Path, p.Provider, p.Name) {
			continue
		}
		if err := notString(sc, p, t); err == nil {
			u.usesString[i] = true
		} else if u.noString[i] == nil {
			u.noString[i] = err
		}
	}
}

// notString returns why an argument is not read as a string, nil if it is.
func notString(sc *Schema, p *reader.Probe, t *StringArg) error {
	if p.Type != nil {
		return fmt.Errorf("%s has typed arguments, whose strings are known without it", site.Name(p))
	}
	fields := slices.Concat(sc.Fields, sc.Unshown)
	f, _, _, err := sc.Lookup(t.arg)
	switch {
	case err != nil && len(fields) == 0:
		return fmt.Errorf("%s has no arguments", site.Name(p))
	case err != nil:
		return fmt.Errorf("%s has no argument %s, but %s to %s", site.Name(p), t.arg, fields[0].Name, fields[len(fields)-1].Name)
	case t.length != "" && lengthArg(p, t.length) == nil:
		return fmt.Errorf("%s has no argument %s that could be a length", site.Name(p), t.length)
	case f.Source == shape.FromString || f.Err != nil:
		return nil // events hold the reason of a string that cannot be read
	}
	return fmt.Errorf("argument %s of %s is not a pointer", t.arg, site.Name(p))
}

// seeCast notes whether cast i has a type at a site, or why it has none.
func (u *OptionUse) seeCast(i int, err error) {
	switch {
	case u == nil:
	case err == nil:
		u.usesCast[i] = true
	case u.noCast[i] == nil:
		u.noCast[i] = err
	}
}

// Check returns an option that has no effect at any of the probes, and why; no
// error if there is none.
func (u *OptionUse) Check() (option string, err error) {
	if !u.bound {
		return "", nil
	}
	for i, used := range u.usesString {
		if used {
			continue
		}
		err := u.noString[i]
		if err == nil {
			err = errors.New("it names none of the probes that are traced")
		}
		return "Strings", err
	}
	for i, used := range u.usesFollow {
		switch {
		case used:
		case u.noFollow[i] != nil:
			return "Follow", fmt.Errorf("%q: %w", u.follow[i], u.noFollow[i])
		case !u.typed:
			return "Follow", fmt.Errorf("%q: no probe has types, which describe pointers", u.follow[i])
		default:
			return "Follow", fmt.Errorf("no probe has a pointer %q that could be followed", u.follow[i])
		}
	}
	for i, err := range u.noCast {
		if err != nil && !u.usesCast[i] {
			return "Args", err
		}
	}
	for i, err := range u.noVariable {
		if err != nil && !u.usesVariable[i] {
			return "Args", fmt.Errorf("%q: %w", u.variables[i], err)
		}
	}
	return "", nil
}
