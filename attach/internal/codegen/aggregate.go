package codegen

// Sizes of keys.
const (
	KeyString     = 120 // bytes of a string that count
	KeyStringSize = 8 + KeyString + 8
	KeyComm       = 16
)

// Words of a group's value. Max holds a number whose unsigned order is that of
// the argument, and min the complement of one, so that both start from 0.
const (
	WordCount = iota
	WordSum   // of floating-point numbers: in units of 2^-20
	WordMin
	WordMax
	WordHist
)

// SumFraction is the number of fraction bits in a sum of floating-point numbers.
const SumFraction = 20

// Aggregate says what the code of a signature adds up, and by what.
type Aggregate struct {
	Wanted  Values
	Parts   []Part
	Value   Input
	KeySize int // 0 without keys
	Marks   int // where in the key it is marked which parts are missing; 0 if none can be

	Role     Role
	Pair     []Part // key that matches a start and its end
	PairSize int
	Noted    int  // bytes that are noted at a start, where they are Parts
	Lasting  bool // the key comes again
}

// Values are the sums that a group has. Without Value a group has only the number
// of events.
type Values struct {
	Value, Sum, Min, Max, Hist bool

	Bounds int // of the histogram; 0 for powers of two
}

// Part is a part of a key.
type Part struct {
	In     Input
	Offset int
	Size   int
	Mark   uint8 // why the part is missing, if In is
}

// KeysSize returns the bytes of all keys. Behind a pair's key is the number of a
// start if something is noted at it.
func (c *Aggregate) KeysSize() int {
	if c.Noted == 0 {
		return c.KeySize + c.PairSize
	}
	return c.KeySize + c.PairSize + 8
}

// inputs yields all inputs of the aggregate.
func (c *Aggregate) inputs(yield func(*Input) bool) {
	for _, parts := range [][]Part{c.Parts, c.Pair} {
		for i := range parts {
			if !yield(&parts[i].In) {
				return
			}
		}
	}
	if c.Wanted.Value {
		yield(&c.Value)
	}
}

func (c *Aggregate) readsStrings() bool {
	for in := range c.inputs {
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

// Role says whether the events of a site are starts or ends of a latency.
type Role uint8

const (
	RoleNone Role = iota
	RoleStart
	RoleEnd
)
