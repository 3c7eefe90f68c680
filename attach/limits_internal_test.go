package attach

import "testing"

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
