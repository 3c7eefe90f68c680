package filter_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/prototype"
)

// TestNamedBits tests bits of a number by their names.
func TestNamedBits(t *testing.T) {
	modes := prototype.NewEnum("modes")
	for i, name := range []string{"READ", "WRITE", "EXEC"} {
		modes.Add(name, 1<<i)
	}
	for _, test := range []struct {
		where, err string
		holds      []uint64 // of 0 to 7
	}{
		{`mode & "WRITE"`, "", []uint64{2, 3, 6, 7}},
		{`mode & "WRITE" != 0`, "", []uint64{2, 3, 6, 7}},
		{`mode & "READ|EXEC" == 5`, "", []uint64{5, 7}},
		{`!(mode & "READ") && mode & "EXEC"`, "", []uint64{4, 6}},
		{`(mode & "EXEC") >> 2 == 1 || mode == "READ"`, "", []uint64{1, 4, 5, 6, 7}},
		{`mode & "WRIT"`, `column 8: mode has no value "WRIT": it has READ, WRITE, EXEC`, nil},
		{`u & "WRITE"`, `column 5: the bits of u have no names that are known: write a number`, nil},
		{`mode | "WRITE"`, "column 6", nil},
		{`mode + "WRITE" == 1`, "column 8", nil},
		{`mode < "WRITE"`, "column 6: names of numbers are compared by == and != only, and of bits also by &", nil},
	} {
		e, err := filter.Parse(test.where)
		var c *filter.Condition
		if err == nil {
			c, err = e.Check(func(name string, isString bool) (filter.Value, error) {
				v := filter.Value{Kind: filter.Uint, Size: 4}
				if name == "mode" && isString {
					v.Names = modes
				}
				return v, nil
			})
		}
		if err != nil || test.err != "" {
			if err == nil || test.err == "" || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error %v, want %q", test.where, err, test.err)
			}
			continue
		}
		var holds []uint64
		for n := range uint64(8) {
			if c.Holds(func(filter.Value) filter.Operand { return filter.NumberOperand(n) }) {
				holds = append(holds, n)
			}
		}
		if !slices.Equal(holds, test.holds) {
			t.Errorf("%s holds for %d, want %d", test.where, holds, test.holds)
		}
	}
}
