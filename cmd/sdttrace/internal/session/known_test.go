package session

import (
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestRestricted adds conditions to options, which hold both, and leaves the options themselves alone.
func TestRestricted(t *testing.T) {
	for _, test := range [][3]string{{"", "", ""}, {"", "a || b", "a || b"}, {"c || d", "", "c || d"}, {"c || d", "a || b", "(c || d) && (a || b)"}} {
		o := attach.Options{Where: test[0]}
		if got := Restricted(&o, test[1]).Where; got != test[2] || o.Where != test[0] {
			t.Errorf("%q and %q: %q, want %q; the options have %q", test[0], test[1], got, test[2], o.Where)
		}
	}
}
