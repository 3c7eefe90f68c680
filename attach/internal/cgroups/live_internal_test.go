package cgroups

import (
	"fmt"
	"testing"
)

// TestGone checks that names of groups that are gone do not pile up, except of the ones in which probes
// have fired.
func TestGone(t *testing.T) {
	const seen, all = 7, 3 * maxPast
	l := &Live{Table: NewTable(), unsure: map[uint64]retry{}, said: map[uint64]uint64{}, fired: map[uint64]bool{seen: true}}
	for id := range uint64(all) {
		if err := l.learn(id, fmt.Sprint("/group", id)); err != nil {
			t.Fatal(err)
		}
		l.gone(id)
	}
	if n := len(l.Table.groups); n > maxPast+2 {
		t.Errorf("%d groups are known, want at most %d", n, maxPast+2)
	}
	for id, want := range map[uint64]bool{seen: true, seen + 1: false, all - 1: true} {
		if g, known := l.Table.Of(id); known != want || known && g.Path != fmt.Sprint("/group", id) {
			t.Errorf("group %d is known: %v, as %+v, want %v", id, known, g, want)
		}
	}
}
