package query

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/grammar"
)

// TestTaskKeys checks that messages name all keys, and that none has the source of another.
func TestTaskKeys(t *testing.T) {
	var names []string
	sources := map[Source]string{}
	for i, k := range TaskKeys {
		names = append(names, k.Name)
		if other := sources[k.Source]; other != "" || k.Source == InputMissing || k.Kind == 0 || TaskKeyOf(k.Name) != i {
			t.Errorf("%+v lacks something, or has the source of %q", k, other)
		}
		sources[k.Source] = k.Name
	}
	if d := cmp.Diff(names, grammar.TaskKeys); d != "" {
		t.Errorf("names in messages (-TaskKeys +grammar.TaskKeys):\n%s", d)
	}
}
