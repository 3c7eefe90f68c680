package discover

import (
	"testing"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/selector"
)

// TestFunctionsForgotten checks that the counts for the error of the first look
// are not kept, and that later looks count nothing.
func TestFunctionsForgotten(t *testing.T) {
	d := New(parsed(t, "uprobe:/proc/self/exe:no such function"), &process.Set{})
	for look := range 3 {
		if _, err := d.More(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.countFunctions("/another", 1)
		if n := len(d.functions); n != 0 {
			t.Errorf("look %d: functions of %d objects are kept", look, n)
		}
	}
}

// parsed returns the selectors.
func parsed(t *testing.T, selectors ...string) (all []selector.Selector) {
	t.Helper()
	for _, text := range selectors {
		s, err := selector.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}
