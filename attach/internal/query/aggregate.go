package query

import (
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/internal/fold"
)

// Sizes of keys.
const (
	KeyString     = 120 // bytes of a string that count
	KeyStringSize = 8 + KeyString + 8
	// KeyFoldedSize is the size of a string that a function has made. It is too large
	// for programs, which do not make it.
	KeyFoldedSize = 8 + 240 + 8
	KeyComm       = 16
)

// Aggregate says what the code of a signature adds up, and by what.
type Aggregate struct {
	Wanted    Values
	Parts     []Part
	Value     Input
	KeySize   int // 0 without keys
	StackMost int // the most addresses of a stack that is a part of the key
	Marks     int // where in the key it is marked which parts are missing; 0 if none can be

	Role      Role
	Pair      []Part // key that matches a start and its end
	PairSize  int
	StartArgs int  // bytes of the arguments that a start keeps for its end; there they are Parts
	Lasting   bool // the key comes again
	Flat      bool // a start takes the place of the one of its key that waits, instead of nesting in it

	Whole  bool   // pairs are recorded and not added up; StartArgs are the most bytes of a start's record
	Slower uint64 // nanoseconds; pairs that took no longer are not recorded, 0 to record all
}

// Part is a part of a key.
type Part struct {
	In     Input
	Offset int
	Size   int
	Mark   uint8 // why the part is missing, if In is
	// Fold makes the part of a string by a function that no program has, so that package
	// tally makes the key; nil for the string itself.
	Fold *fold.Function
	// Shown makes what is shown of a string when groups are read; nil for the string itself.
	Shown *fold.Function
	// Prefix is how many bytes of a string count, as if it ended there; 0 for as many as
	// there is room for, and for what is no string.
	Prefix int
	// Steps compute the part of Inputs, if In is InputComputed: the Index of a Value is
	// one of Inputs.
	Steps  []filter.Step
	Inputs []Input
}

// IsString reports whether the part is a string behind its length.
func (p *Part) IsString() bool {
	return p.Size == KeyStringSize || p.Size == KeyFoldedSize || p.Prefix > 0 && p.Size > KeyComm
}

// PrefixSize returns the size of a part that is the beginning of a string.
func PrefixSize(bytes int) int { return StringData + (bytes+7)&^7 + 8 }

// Most returns how many bytes of a string the part holds.
func (p *Part) Most() int {
	if p.Prefix > 0 {
		return p.Prefix
	}
	return p.Size - StringData - 8
}

// KeysSize returns the bytes of all keys. Behind a pair's key is the number of a
// start if it keeps arguments.
func (c *Aggregate) KeysSize() int {
	if c.StartArgs == 0 {
		return c.KeySize + c.PairSize
	}
	return c.KeySize + c.PairSize + 8
}

// Inputs yields all Inputs of the aggregate.
func (c *Aggregate) Inputs(yield func(*Input) bool) {
	for _, parts := range [][]Part{c.Parts, c.Pair} {
		for i := range parts {
			if !yield(&parts[i].In) {
				return
			}
			for j := range parts[i].Inputs {
				if !yield(&parts[i].Inputs[j]) {
					return
				}
			}
		}
	}
	if c.Wanted.Value {
		yield(&c.Value)
	}
}

// OnlyCounts reports whether nothing is asked for but the number of all events.
func (c *Aggregate) OnlyCounts() bool {
	return c.Role == RoleNone && len(c.Parts) == 0 && !c.Wanted.Value
}

func (c *Aggregate) readsStrings() bool {
	for in := range c.Inputs {
		if in.Source == InputString {
			return true
		}
	}
	return false
}

// Missing reports whether an argument that an event needs to count cannot be read
// at all.
func (c *Aggregate) Missing() bool {
	for i := range c.Pair {
		if c.Pair[i].In.Source == InputMissing {
			return true
		}
	}
	return c.Wanted.Value && c.Value.Source == InputMissing
}

// StackPart returns the part of the key that is a stack's hash, nil if there is none.
func (c *Aggregate) StackPart() *Part {
	if c == nil || c.Role == RoleStart {
		return nil
	}
	for i := range c.Parts {
		if c.Parts[i].In.Source == InputStack {
			return &c.Parts[i]
		}
	}
	return nil
}

// Role says whether the events of a site are starts or ends of a latency.
type Role uint8

const (
	RoleNone Role = iota
	RoleStart
	RoleEnd
)
