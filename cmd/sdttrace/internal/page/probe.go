package page

import (
	"fmt"
	"math"
	"time"

	"github.com/go-usdt/usdt/event"
)

// probe is what is known of a probe's events.
type probe struct {
	number int
	name   string
	count  uint64
	rate   series
	args   []*argument
	byName map[string]*argument
	stacks map[int32]uint64 // events by the place of their stack in the tree
}

// argument is an argument of a probe, or a field of one.
type argument struct {
	number int // among the probe's spans
	name   string
	unit   string // "ns" of durations
	counts bool   // its numbers are added up
	kinded
	values histogram
}

func newProbe(number int, name string) *probe {
	return &probe{number: number, name: name, byName: map[string]*argument{}, stacks: map[int32]uint64{}}
}

func (pr *probe) argument(i int, name string) *argument {
	if i < len(pr.args) && pr.args[i].name == name {
		return pr.args[i] // as in most events
	}
	a := pr.byName[name]
	if a == nil {
		a = &argument{number: len(pr.args), name: name}
		pr.byName[name], pr.args = a, append(pr.args, a)
	}
	return a
}

// kind is how the values of a column are written.
type kind byte

const (
	texts    kind = iota
	signed        // int64
	unsigned      // uint64
	floats        // float64
)

// numberOf returns the number of an argument: its bits, and as a float, which is NaN if it
// measures nothing.
func numberOf(a *event.Arg) (k kind, bits uint64, value float64, unit string) {
	if a.Err != nil {
		return texts, 0, 0, ""
	}
	switch v := a.Value.(type) {
	case uint64:
		return unsigned, v, float64(v), ""
	case int64:
		return signed, uint64(v), float64(v), ""
	case time.Duration:
		return signed, uint64(v), float64(v), "ns"
	case float64:
		return floats, bitsOf(v), v, ""
	case numbered: // an identifier, if it is shown as a number
		if n := v.Number(); v.String() == fmt.Sprint(n) {
			k, bits, _, _ = numberOf(&event.Arg{Value: n})
			return k, bits, math.NaN(), ""
		}
	}
	return texts, 0, 0, ""
}
