package bind

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
)

// preparePairs decides what has to be known about all starts and ends before they
// are bound.
func (b *Binder) preparePairs(plan site.Plan) error {
	if b.Aggregate == nil || b.Aggregate.Pairs == nil {
		return nil
	}
	b.Aggregate.Pairs.carry(plan)
	return b.Aggregate.foresee(plan, b.fields)
}

// order returns the indices of plan in the order in which sites are bound: starts
// first, because ends need to know what they keep.
func (l *Layout) order(plan site.Plan) []int {
	order := make([]int, len(plan))
	for i := range order {
		order[i] = i
	}
	if l == nil || l.Pairs == nil {
		return order
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(l.rank(&plan[i])) - int(l.rank(&plan[j])) })
	return order
}

func (l *Layout) rank(s *site.Site) query.Role {
	role, _ := l.Pairs.role(&s.Probe)
	return role
}

// foresee decides which names of Aggregation.By starts have to keep: the names that no end has.
// fields returns the arguments of a site.
func (l *Layout) foresee(plan site.Plan, fields func(*site.Site) (*Schema, error)) error {
	if l.Pairs.fromStart != nil || len(l.Wanted.By) == 0 {
		return nil
	}
	wanted, of := l.Wanted.By, query.RoleEnd
	if !slices.ContainsFunc(plan, func(s site.Site) bool { return s.Reason == nil && l.rank(&s) == query.RoleEnd }) {
		of = query.RoleStart // ends will be found later, and need not have the arguments of starts
	}
	lacks := make([]error, len(wanted))
	first := true
	for i := range plan {
		s := &plan[i]
		if s.Reason != nil || l.rank(s) != of {
			continue
		}
		sc, err := fields(s)
		if err != nil {
			return err
		}
		for j, name := range wanted {
			if first || lacks[j] != nil {
				lacks[j] = sc.lacks(&s.Probe, name)
			}
		}
		if first = false; !slices.ContainsFunc(lacks, func(err error) bool { return err != nil }) {
			break
		}
	}
	if first {
		return nil
	}
	l.Pairs.fromStart = make([]bool, len(wanted))
	for j := range wanted {
		l.Pairs.fromStart[j] = (lacks[j] != nil) == (of == query.RoleEnd) && !(of == query.RoleStart && anyHas(wanted[j])) && wanted[j] != query.Stack
		if of == query.RoleEnd && l.Pairs.lacks == nil {
			l.Pairs.lacks = lacks[j]
		}
	}
	return nil
}

// anyHas reports whether every end has what a key names.
func anyHas(text string) bool {
	k, err := query.ParseKey(text)
	return text == "probe" || err == nil && query.TaskKeyOf(k.Name) >= 0
}

// neither returns the error for a key that the end lacks, and the start as well. It names once
// what both have.
func neither(end, start error) error {
	var ends, starts *shape.NoArgument
	if !errors.As(end, &ends) || !errors.As(start, &starts) {
		return fmt.Errorf("%w: %w; and %w", query.ErrAggregation, end, start)
	}
	lacks := strings.TrimSuffix(plainly(end).Error(), ": "+ends.Error())
	other := strings.TrimSuffix(plainly(start).Error(), " has no argument "+starts.Name+": "+starts.Error())
	if ends.Error() == starts.Error() {
		return fmt.Errorf("%w: %s, nor has %s: %s", query.ErrAggregation, lacks, other, ends)
	}
	var has []string
	add := func(who string, of, in []string, want bool) {
		if names := slices.DeleteFunc(slices.Clone(of), func(name string) bool { return slices.Contains(in, name) != want }); len(names) > 0 {
			has = append(has, who+strings.Join(names, ", "))
		}
	}
	ofEnd, ofStart := ends.Names(), starts.Names()
	add("the end has ", ofEnd, ofStart, false)
	add("the start has ", ofStart, ofEnd, false)
	add("both have ", ofEnd, ofStart, true)
	return fmt.Errorf("%w: %s, nor has %s: %s%s", query.ErrAggregation, lacks, other, strings.Join(has, ", "), spelling.Nearly(ends.Name, slices.Concat(ofEnd, ofStart)))
}

// bindStartArgs binds the arguments that a start keeps for its end.
func (l *Layout) bindStartArgs(code *query.Aggregate, sc *Schema, p *reader.Probe) (err error) {
	var names []string
	for i, name := range l.Wanted.By {
		if l.Pairs.fromStart[i] {
			names = append(names, name)
		}
	}
	code.Parts, code.KeySize, err = bindKey(names, sc, p)
	switch {
	case err != nil && l.Pairs.lacks != nil:
		return neither(l.Pairs.lacks, err)
	case err != nil:
		return err
	}
	l.markMissing(code, names, sc)
	if len(names) > 0 {
		marks, size := l.marksAt(code.KeySize, len(names))
		code.Marks, code.KeySize = marks, code.KeySize+size
	}
	if l.Pairs.startArgs == nil {
		l.Pairs.startArgs, l.Pairs.StartArgsSize = slices.Clone(code.Parts), code.KeySize
	}
	code.StartArgs = l.Pairs.StartArgsSize
	return nil
}

// bindGroup lays out the key of an end's group, which consists of arguments that
// the start has kept and arguments of the end.
func (l *PairLayout) bindGroup(code *query.Aggregate, by []string, sc *Schema, p *reader.Probe) error {
	kept := l.startArgs
	for i, name := range by {
		part := query.Part{In: query.Input{Source: query.InputMissing}, Size: 8}
		switch {
		case !l.fromStart[i]:
			parts, _, err := bindKey([]string{name}, sc, p)
			if err != nil {
				return err
			}
			part = parts[0]
		case len(kept) > 0:
			part = query.Part{In: query.Input{Source: query.InputStart, Kind: kept[0].In.Kind, Size: kept[0].In.Size, Meaning: kept[0].In.Meaning, Offset: uint32(kept[0].Offset)}, Size: kept[0].Size, Prefix: kept[0].Prefix, Shown: kept[0].Shown}
			kept = kept[1:]
		}
		part.Offset = code.KeySize
		code.Parts = append(code.Parts, part)
		code.KeySize += part.Size
	}
	code.StartArgs = l.StartArgsSize
	return nil
}
