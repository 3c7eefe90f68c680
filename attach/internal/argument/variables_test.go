package argument

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/reader"
)

// TestLack says why a name is no variable: nothing has it, another is near, or a second pointer leads to it.
func TestLack(t *testing.T) {
	vars := Variables{Where: "an argument of the function", All: []reader.Variable{
		{Name: "r", Type: "*main.Request"}, {Name: "r.Peer", Type: "*main.Peer", Behind: true}, {Name: "r.Status", Type: "int", Behind: true},
	}}
	for name, want := range map[string]string{
		"r.Peer.Port":   "no variable r.Peer.Port is an argument of the function: r.Peer is behind a pointer itself, and what it points to is not read",
		"r.Statu":       "no variable r.Statu is an argument of the function; the nearest is r.Status",
		"r.Status.Code": "no variable r.Status.Code is an argument of the function",
		"other":         "no variable other is an argument of the function",
	} {
		err := vars.Lack(name)
		if lacking := (Lacking{}); !errors.As(err, &lacking) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
