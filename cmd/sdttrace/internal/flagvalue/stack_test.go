package flagvalue

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestKeys takes values of --stack out of keys, also where a comma has divided them.
func TestKeys(t *testing.T) {
	for in, want := range map[string]struct {
		keys, wrong string
		stack       Stack
	}{
		"x y":               {keys: "x y"},
		"x stack":           {keys: "x stack"},
		"stack=dwarf":       {keys: "stack", stack: Stack{attach.MaxStack, true}},
		"x stack=dwarf 4":   {keys: "x stack", stack: Stack{4, true}},
		"stack=dwarf 4 y":   {keys: "stack y", stack: Stack{4, true}},
		"stack=dwarf y":     {keys: "stack y", stack: Stack{attach.MaxStack, true}},
		"x stack=dwarf,4 y": {keys: "x stack y", stack: Stack{4, true}},
		"x stack=7":         {keys: "x stack", stack: Stack{7, false}},
		"stack=dwarf 0":     {wrong: "stack=dwarf,0: 0 is not between"},
		"stack=fp":          {wrong: "stack=fp: want a number of calls"},
	} {
		var v Stack
		keys, err := v.Keys(strings.Fields(in))
		if want.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), want.wrong) {
				t.Errorf("%s: error %v, want %s", in, err, want.wrong)
			}
			continue
		}
		if err != nil || !slices.Equal(keys, strings.Fields(want.keys)) || v != want.stack {
			t.Errorf("%s: got %q, %+v, %v, want %q, %+v", in, keys, v, err, want.keys, want.stack)
		}
	}
}
