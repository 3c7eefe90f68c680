package query

// Function makes one number of the values of a group's events.
type Function uint8

const (
	Sum Function = iota
	Avg
	Min
	Max
	Stddev

	Functions // their number
)

// functions say which cells each function is made of. Package sums has a table of what is made of
// them.
var functions = [Functions]func(v *Values){
	Sum:    func(v *Values) { v.Sum = true },
	Avg:    func(v *Values) { v.Sum = true },
	Min:    func(v *Values) { v.Min = true },
	Max:    func(v *Values) { v.Max = true },
	Stddev: func(v *Values) { v.Sum, v.Squares = true, true },
}

// FunctionSet is a set of functions.
type FunctionSet uint64

// Of returns the set of some functions.
func Of(some ...Function) (s FunctionSet) {
	for _, f := range some {
		s |= 1 << f
	}
	return s
}

// Has reports whether a function is in the set.
func (s FunctionSet) Has(f Function) bool { return s>>f&1 != 0 }
