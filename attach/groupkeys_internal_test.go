package attach

import (
	"slices"
	"testing"

	"github.com/go-usdt/usdt/event"
)

// TestCompareKeys orders groups: missing keys, numbers, text, and the group of others.
func TestCompareKeys(t *testing.T) {
	key := func(v any) Group { return Group{By: []event.Arg{{Name: "k", Value: v}}} }
	want := []Group{key(nil), key(int64(-5)), key(uint64(3)), key(uint64(20)), key("a"), key("b"), {Other: true}}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b Group) int { return a.CompareKeys(&b) })
	for i := range want {
		if got[i].Other != want[i].Other || !want[i].Other && got[i].By[0].Value != want[i].By[0].Value {
			t.Errorf("place %d has %+v, want %+v", i, got[i], want[i])
		}
	}
}

// TestLimits checks the sizes that options may have.
func TestLimits(t *testing.T) {
	for _, test := range []struct {
		opts Options
		ok   bool
	}{
		{Options{Stack: MaxStack}, true}, {Options{Stack: MaxStack + 1}, false}, {Options{Stack: MaxUnwound, Unwind: true}, true},
		{Options{Stack: MaxUnwound + 1, Unwind: true}, false}, {Options{Unwind: true}, false},
	} {
		if err := test.opts.checkStack(); (err == nil) != test.ok {
			t.Errorf("stacks of %d addresses, unwound: %t: %v", test.opts.Stack, test.opts.Unwind, err)
		}
	}
	if (Target{}).Via != ViaAny {
		t.Error("the zero target has a way")
	}
}
