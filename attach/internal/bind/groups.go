package bind

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/reader"
)

// maxGroupBytes is the largest size of a group's key.
const maxGroupBytes = 512

// bind fits the aggregation to what is read at a site.
func (l *Layout) bind(sc *Schema, s *site.Site, role query.Role) error {
	p := &s.Probe
	code := &query.Aggregate{Role: role, StackMost: l.Stack}
	if err := l.bindGroup(code, sc, p); err != nil {
		return err
	}
	if role != query.RoleNone {
		if err := l.Pairs.bindPair(code, sc, s); err != nil {
			return err
		}
	}
	if size := code.KeysSize(); size > maxGroupBytes {
		return tooLong(p, size)
	}
	if err := l.agree(code, sc, p); err != nil {
		return err
	}
	sc.Sig.Aggregate = code
	return nil
}

func tooLong(p *reader.Probe, size int) error {
	return fmt.Errorf("%w: the groups of %s:%s have keys of %d bytes, and at most %d are possible", query.ErrAggregation, p.Provider, p.Name, size, maxGroupBytes)
}

// bindGroup binds the key by which events are grouped, and the value.
func (l *Layout) bindGroup(code *query.Aggregate, sc *Schema, p *reader.Probe) (err error) {
	switch {
	case code.Role == query.RoleStart && l.Pairs.fromStart != nil:
		return l.bindStartArgs(code, sc, p)
	case code.Role == query.RoleStart:
		return nil
	case code.Role == query.RoleEnd:
		err = l.Pairs.bindGroup(code, l.Wanted.By, sc, p)
	default:
		code.Parts, code.KeySize, err = bindKey(l.Wanted.By, sc, p)
	}
	if err != nil {
		return err
	}
	l.markMissing(code, l.Wanted.By, sc)
	code.Wanted = l.Wanted.Values()
	switch {
	case l.Pairs != nil:
		code.Value = query.Elapsed
	case code.Wanted.Value:
		if err := l.bindValue(code, sc, p); err != nil && !sc.lack(&code.Value, l.Wanted.Value, err) {
			return err
		}
	}
	return nil
}

func (l *Layout) bindValue(code *query.Aggregate, sc *Schema, p *reader.Probe) (err error) {
	sc.valued = l.Wanted.Value
	if code.Value, err = sc.Input(p, l.Wanted.Value, false); err != nil {
		return fmt.Errorf("%w: %w", query.ErrAggregation, err)
	}
	code.Value.WidenFloat()
	if code.Value.IsString() || code.Value.Group != 0 || code.Value.Kind == reader.Other {
		return fmt.Errorf("%w: argument %s of %s:%s is not a number", query.ErrAggregation, l.Wanted.Value, p.Provider, p.Name)
	}
	if code.Value.Meaning == reader.Time && code.Wanted.AddsUp() {
		return fmt.Errorf("%w: argument %s of %s:%s is a time, which has only a minimum and a maximum", query.ErrAggregation, l.Wanted.Value, p.Provider, p.Name)
	}
	return nil
}

// bindKey lays out a key that consists of the values of names.
func bindKey(names []string, sc *Schema, p *reader.Probe) (parts []query.Part, size int, err error) {
	for _, name := range names {
		part, err := sc.part(p, name)
		if err != nil && !sc.lack(&part.In, name, err) {
			return nil, 0, fmt.Errorf("%w: %w", query.ErrAggregation, err)
		}
		if err != nil {
			part = query.Part{In: part.In, Size: 8}
		}
		part.Offset = size
		parts = append(parts, part)
		size += part.Size
	}
	return parts, size, nil
}

// agree checks that all sites have keys and values of the same kinds, or of kinds that they
// can have in common. Once maps have been made, the common kinds stay.
func (l *Layout) agree(code *query.Aggregate, sc *Schema, p *reader.Probe) error {
	if code.Missing() {
		return nil // no event of this site gets that far
	}
	if l.Pairs != nil {
		if err := l.Pairs.agree(code, sc, p); err != nil || code.Role == query.RoleStart {
			return err
		}
	}
	unreadBefore := func() error {
		return fmt.Errorf("%w: the keys of groups of %s:%s could not be read at the probes found first", query.ErrAggregation, p.Provider, p.Name)
	}
	if !l.Bound && l.Made && (len(code.Parts) > 0 || code.Wanted.Fine) {
		return unreadBefore()
	}
	if !l.Bound {
		l.Bound, l.Parts, l.Value = true, slices.Clone(code.Parts), code.Value
	}
	for i := range code.Parts {
		known, part := &l.Parts[i], &code.Parts[i]
		switch {
		case part.In.Source == query.InputMissing:
		case known.In.Source == query.InputMissing && l.Made:
			return unreadBefore()
		case known.In.Source == query.InputMissing:
			l.Parts = slices.Clone(l.Parts) // a clone of l shares them
			l.Parts[i] = *part
		default:
			both, ok := known.In.Join(&part.In)
			if !ok && !sc.lack(&part.In, l.Wanted.By[i], otherForm(&part.In, &known.In)) {
				return otherKind(l.Wanted.By[i], p)
			}
			if !ok {
				*part = query.Part{In: part.In, Mark: l.markOf(sc, l.Wanted.By[i]), Size: known.Size, Offset: part.Offset}
			}
			if ok && !l.Made {
				l.Parts = slices.Clone(l.Parts)
				l.Parts[i].In = both
			}
		}
	}
	both, ok := l.Value.Join(&code.Value)
	if !ok && !sc.lack(&code.Value, l.Wanted.Value, otherForm(&code.Value, &l.Value)) {
		return otherKind(l.Wanted.Value, p)
	}
	if ok && !l.Made {
		l.Value = both
	}
	return l.wordsFit(code)
}

// wordsFit returns an error if groups have too many words, which depends on the value's kind.
func (l *Layout) wordsFit(code *query.Aggregate) error {
	if words := code.Wanted.Words(l.Value.Kind); words > query.MaxWords {
		return fmt.Errorf("%w: quantiles of %s leave room for %d bounds, and there are %d", query.ErrAggregation, l.Wanted.Value, len(l.Wanted.Bounds)-(words-query.MaxWords), len(l.Wanted.Bounds))
	}
	return nil
}

func otherKind(name string, p *reader.Probe) error {
	return fmt.Errorf("%w: argument %s has another kind at %s than at other probes", query.ErrAggregation, name, site.Name(p))
}

// settle gives the keys of all sites one layout, once the kinds of parts that
// some sites lack are known. It refuses sites whose keys do not fit then.
func (l *Layout) settle(plan site.Plan, schemas []*Schema) {
	if l.Whole() {
		l.settleRecords(plan, schemas)
	}
	if !l.Bound {
		return
	}
	l.Parts = slices.Clone(l.Parts) // a clone of l shares them
	size := 0
	for i := range l.Parts {
		l.Parts[i].Offset = size
		size += l.Parts[i].Size
	}
	marks, marksSize := l.marksAt(size, len(l.Parts))
	l.KeySize = size + marksSize
	for i, sc := range schemas {
		if sc == nil || sc.Sig.Aggregate.Missing() {
			continue
		}
		code := sc.Sig.Aggregate
		if code.Role == query.RoleStart {
			widen(code.Parts, l.Pairs.startArgs)
			continue
		}
		widen(code.Parts, l.Parts)
		code.Value.Widen(&l.Value)
		for j := range code.Parts {
			code.Parts[j].Offset, code.Parts[j].Size = l.Parts[j].Offset, l.Parts[j].Size
		}
		code.KeySize, code.Marks = l.KeySize, marks
		var err error
		if size := code.KeysSize() - marksSize; size > maxGroupBytes {
			err = &Misfit{tooLong(&plan[i].Probe, size)}
		} else {
			err = sc.Sig.Fits()
		}
		if sc.arrives() && !errors.As(err, new(*Misfit)) {
			err = nil
		}
		if err != nil {
			plan[i].Reason, schemas[i] = err, nil
		}
	}
}

// widen gives parts of a key the kinds that all sites have in common.
func widen(parts, common []query.Part) {
	for i := range parts {
		parts[i].In.Widen(&common[i].In)
	}
}
