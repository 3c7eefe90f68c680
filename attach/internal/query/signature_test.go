package query

import (
	"testing"

	"github.com/go-usdt/usdt/attach/internal/filter"
)

// TestConditionKey checks that conditions which differ in their text only do not share
// code: those of several sites need not be of the same arguments.
func TestConditionKey(t *testing.T) {
	matching := func(pieces ...string) *filter.Condition {
		return &filter.Condition{Op: filter.Match, Pattern: filter.Pattern{Pieces: pieces}}
	}
	conditions := []*filter.Condition{
		nil, matching("a b"), matching("a", "b"), matching("a", "", "b"), matching(`"a" "b"`),
		{Op: filter.Not, Left: matching("a b")},
		{Op: filter.And, Left: matching("a"), Right: matching("b")},
		{Op: filter.Or, Left: matching("a"), Right: matching("b")},
	}
	seen := map[string]int{}
	for i, c := range conditions {
		key := conditionKey(c)
		if j, ok := seen[key]; ok {
			t.Errorf("conditions %d and %d have one key: %s", j, i, key)
		}
		seen[key] = i
	}
}
