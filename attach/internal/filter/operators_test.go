package filter_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/internal/grammar"
)

// TestOperators checks that each operator of the grammar does something that no other one does.
func TestOperators(t *testing.T) {
	holds := func(where string, u uint64) bool {
		t.Helper()
		e, err := filter.Parse(where)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		c, err := e.Check(lookup)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if c.Op == filter.And {
			t.Fatalf("%s: nothing is done for the operator", where)
		}
		return c.Holds(func(filter.Value) filter.Operand { return filter.NumberOperand(u) })
	}
	does := map[string]string{}
	alone := func(operator, what string) {
		t.Helper()
		if other, taken := does[what]; taken {
			t.Errorf("%s does what %s does: %s", operator, other, what)
		}
		does[what] = operator
	}
	for operator := range grammar.Mirrored {
		where := "u " + operator + " 5"
		alone(operator, fmt.Sprint(holds(where, 4), holds(where, 5), holds(where, 6)))
	}
	for _, operator := range slices.Concat(grammar.Sums, grammar.Products) {
		n := 0
		for n < 300 && !holds(fmt.Sprintf("u %s 2 == %d", operator, n), 45) {
			n++
		}
		if n == 300 || n == 45 || n == 2 {
			t.Errorf("%s: nothing is done for the operator", operator)
		}
		alone(operator, fmt.Sprint("45 and 2 are ", n))
	}
}
