package prototype_test

import (
	"testing"

	"github.com/go-usdt/usdt/prototype"
)

// TestFlags checks how values are shown that are several bits with names.
func TestFlags(t *testing.T) {
	of := func(values ...int64) *prototype.Enum {
		e := prototype.NewEnum("flags")
		for i, v := range values {
			e.Add(string(rune('A'+i)), v)
		}
		return e
	}
	for _, tt := range []struct {
		enum  *prototype.Enum
		value int64
		want  string
	}{
		{of(1, 2, 4), 4, "C"},
		{of(1, 2, 4), 5, "A|C"},
		{of(4, 2, 1), 7, "A|B|C"},
		{of(1, 2, 4), 8, ""},
		{of(1, 2, 4), 9, ""},
		{of(1, 2, 4), 0, ""},
		{of(0, 1, 2, 4), 0, "A"},
		{of(0, 1, 2, 4), 6, "C|D"},
		{of(1, 2, 4), -1, ""},
		{of(1, 2, 1<<40), 1<<40 | 1, "A|C"},
		{of(1, 2, 4, 4), 6, "B|C"},
		{of(0, 1, 2), 3, ""},          // kinds, not bits
		{of(0, 1, 2, 3, 4, 5), 6, ""}, // also
		{of(-1, 1, 2, 4), 3, ""},      // and these
		{of(1, 2, 4, 8, 16), 31, "A|B|C|D|E"},
	} {
		if got := tt.enum.NameOf(tt.value); got != tt.want {
			t.Errorf("%d of %v is %q, want %q", tt.value, tt.enum.Names(), got, tt.want)
		}
		if v, ok := tt.enum.Value(tt.want); ok != (tt.want != "") || ok && v != tt.value {
			t.Errorf("%q of %v is %d, %v, want %d", tt.want, tt.enum.Names(), v, ok, tt.value)
		}
	}
}
