package attach

// Sizes of keys.
const (
	keyText     = 120 // bytes that tell text apart
	keyTextSize = 8 + keyText + 8
	keyCommSize = 16
)

// Words of a group's value. Min and max hold numbers whose unsigned order is
// that of the argument's, min's complemented, so that 0 is the start of both.
const (
	wordCount = iota
	wordSum   // of floating-point numbers: in units of 2^-20
	wordMin
	wordMax
	wordHist
)

const sumFraction = 20 // bits

// aggregateCode is what a signature's code needs to know.
type aggregateCode struct {
	wanted  aggregateValues
	parts   []groupPart
	value   input
	keySize int // 0 without keys
	marks   int // where in the key it is marked which parts are missing; 0 if none can be

	role     pairRole
	pair     []groupPart // tells which start an end belongs to
	pairSize int
	noted    int  // bytes that are noted at a start, which are parts there
	lasting  bool // the key comes again
}

type aggregateValues struct {
	value, sum, min, max, hist bool

	bounds int // of the histogram; 0 for powers of two
}

// groupPart is a part of a key.
type groupPart struct {
	in     input
	offset int
	size   int
	mark   uint8 // why there is none, if in is missing
}

// room returns the bytes of all keys. Behind a pair's key is the number of a
// start if something is noted at it.
func (c *aggregateCode) room() int {
	if c.noted == 0 {
		return c.keySize + c.pairSize
	}
	return c.keySize + c.pairSize + 8
}

// inputs yields everything that is looked at.
func (c *aggregateCode) inputs(yield func(*input) bool) {
	for _, parts := range [][]groupPart{c.parts, c.pair} {
		for i := range parts {
			if !yield(&parts[i].in) {
				return
			}
		}
	}
	if c.wanted.value {
		yield(&c.value)
	}
}

func (c *aggregateCode) readsText() bool {
	for in := range c.inputs {
		if in.source == inputText {
			return true
		}
	}
	return false
}

// missing says that an argument cannot be read at all without which an event
// does not count.
func (c *aggregateCode) missing() bool {
	for i := range c.pair {
		if c.pair[i].in.source == inputMissing {
			return true
		}
	}
	return c.wanted.value && c.value.source == inputMissing
}

// pairRole is what the events of a site are to a latency.
type pairRole uint8

const (
	roleNone pairRole = iota
	roleStart
	roleEnd
)
