package cgroups

import (
	"fmt"
	"testing"

	"github.com/go-usdt/usdt/internal/container"
)

// TestGone checks that names of groups that are gone do not pile up, and that the ones in which probes have
// fired are kept for longer.
func TestGone(t *testing.T) {
	const all = maxPast + 3*maxKeys
	fires := func(id uint64) bool { return id%2 == 1 }
	l := &Live{Table: NewTable(), unsure: map[uint64]retry{}, said: map[uint64]uint64{}, fired: map[uint64]bool{}}
	for id := range uint64(all) {
		if err := l.learn(id, fmt.Sprint("/group", id)); err != nil {
			t.Fatal(err)
		}
		if fires(id) {
			l.fired[id] = true
		}
		l.Table.Same(id, container.PathWord)
		l.gone(id)
		l.Table.Same(id, container.PathWord)
	}
	for what, n := range map[string]int{"groups": len(l.Table.groups), "words": len(l.Table.first), "groups that fired": len(l.fired)} {
		if most := maxPast + maxKeys + 2; n > most {
			t.Errorf("%d %s are known, want at most %d", n, what, most)
		}
	}
	for id, want := range map[uint64]bool{1: false, all - maxPast - maxKeys + 1: true, all - maxPast - maxKeys + 2: false, all - 1: true, all - 2: true} {
		if g, known := l.Table.Of(id); known != want || known && g.Path != fmt.Sprint("/group", id) {
			t.Errorf("group %d is known: %v, as %+v, want %v", id, known, g, want)
		}
	}
}
