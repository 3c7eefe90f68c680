package query

import (
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/filter"
)

// Equal reports whether sites of the two signatures can share code. Neither may change after the first
// call. A test changes each field.
func (s *Signature) Equal(o *Signature) bool {
	if s == o {
		return true
	}
	return s.Layout.Equal(&o.Layout) && s.Hook == o.Hook && slices.Equal(s.Operands, o.Operands) &&
		s.BlockBase == o.BlockBase && s.BlockDisp == o.BlockDisp &&
		s.Return == o.Return && s.Frame == o.Frame && s.FramePointer == o.FramePointer &&
		s.Alone == o.Alone && s.StackPointer == o.StackPointer &&
		slices.Equal(s.Inputs, o.Inputs) && s.IP == o.IP && s.Sample == o.Sample && s.Signal == o.Signal && s.Omit == o.Omit &&
		s.Aggregate.equal(o.Aggregate) && s.conditionKey() == o.conditionKey() &&
		(s.AtReturn == nil) == (o.AtReturn == nil) && (s.AtReturn == nil || s.AtReturn.Equal(o.AtReturn))
}

// equal reports whether the code of signatures that differ in nothing else is the same. Both may be nil.
func (c *Aggregate) equal(o *Aggregate) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.Wanted == o.Wanted && slices.EqualFunc(c.Parts, o.Parts, equalParts) && c.Value == o.Value &&
		c.KeySize == o.KeySize && c.StackMost == o.StackMost && c.Marks == o.Marks &&
		c.Role == o.Role && slices.EqualFunc(c.Pair, o.Pair, equalParts) && c.PairSize == o.PairSize &&
		c.StartArgs == o.StartArgs && c.Lasting == o.Lasting && c.Flat == o.Flat && c.Whole == o.Whole && c.Slower == o.Slower
}

func equalParts(p, o Part) bool {
	return p.In == o.In && p.Offset == o.Offset && p.Size == o.Size && p.Mark == o.Mark && p.Fold == o.Fold && p.Shown == o.Shown &&
		p.Prefix == o.Prefix && slices.EqualFunc(p.Steps, o.Steps, equalSteps) && slices.Equal(p.Inputs, o.Inputs)
}

func equalSteps(a, b filter.Step) bool {
	return a.Op == b.Op && a.Signed == b.Signed && a.Bits == b.Bits && valueKey(a.Value) == valueKey(b.Value)
}

// valueKey returns a string that differs between values: a function is not comparable.
func valueKey(v filter.Value) string { return fmt.Sprintf("%#v", v) }

// conditionKey returns a string that differs between conditions of signatures.
func (s *Signature) conditionKey() string {
	if s.conditions == "" && s.Condition != nil {
		s.conditions = conditionKey(s.Condition)
	}
	return s.conditions
}

// conditionKey returns a string that differs between conditions.
func conditionKey(c *filter.Condition) string {
	if c == nil {
		return ""
	}
	flat := *c
	flat.Left, flat.Right = nil, nil
	// Quoted, so that the text "a b" differs from the pattern of "a" and "b".
	return fmt.Sprintf("(%s%#v%s)", conditionKey(c.Left), flat, conditionKey(c.Right))
}

// seed is for all hashes, which are of one process.
var seed = maphash.MakeSeed()

// hash returns a number that equal signatures have in common, and few others.
func (s *Signature) hash() uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, s.Hook)
	for i := range s.Operands {
		// A comparison of all fields finds what differs otherwise.
		op := &s.Operands[i]
		maphash.WriteComparable(&h, [4]uint64{uint64(op.Kind)<<8 | uint64(op.Size), op.Value, uint64(op.Disp), uint64(op.FollowDisp)})
		maphash.WriteComparable(&h, op.Base)
	}
	for i := range s.Strings {
		maphash.WriteComparable(&h, s.Strings[i].Slot)
	}
	for i := range s.Inputs {
		in := &s.Inputs[i]
		maphash.WriteComparable(&h, [4]uint64{uint64(in.Source), uint64(in.Index), uint64(in.Offset), in.Value})
	}
	return h.Sum64()
}

// Index has something of each signature, which equal ones have in common.
type Index[V any] struct {
	byHash map[uint64][]indexed[V]
}

type indexed[V any] struct {
	of    *Signature
	value V
}

// Find returns what has been put there for an equal signature.
func (x *Index[V]) Find(s *Signature) (v V, ok bool) {
	if len(x.byHash) == 0 {
		return v, false
	}
	for _, e := range x.byHash[s.hash()] {
		if e.of.Equal(s) {
			return e.value, true
		}
	}
	return v, false
}

// Put keeps a value for a signature and its equals, in place of an earlier one.
func (x *Index[V]) Put(s *Signature, v V) {
	if x.byHash == nil {
		x.byHash = map[uint64][]indexed[V]{}
	}
	h := s.hash()
	for i := range x.byHash[h] {
		if e := &x.byHash[h][i]; e.of.Equal(s) {
			e.value = v
			return
		}
	}
	x.byHash[h] = append(x.byHash[h], indexed[V]{s, v})
}

// Len returns for how many signatures there is a value.
func (x *Index[V]) Len() (n int) {
	for _, all := range x.byHash {
		n += len(all)
	}
	return n
}

// DeleteFunc forgets the values for which del returns true.
func (x *Index[V]) DeleteFunc(del func(V) bool) {
	for h, all := range x.byHash {
		all = slices.DeleteFunc(all, func(e indexed[V]) bool { return del(e.value) })
		if x.byHash[h] = all; len(all) == 0 {
			delete(x.byHash, h)
		}
	}
}
