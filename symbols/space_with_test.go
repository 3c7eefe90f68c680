package symbols

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWith replaces random parts of a space, and checks each address of it against a table: what
// is around a new module stays what it was, at its place in the file.
func TestWith(t *testing.T) {
	const size = 64
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		s := &Space{resolver: NewResolver(nil)}
		var want [size]Module // each address as a module of its own
		for _, path := range []string{"old", "new"} {
			var modules []Module
			for at := uint64(0); at < size; {
				m := Module{Path: path, Start: at + random.Uint64N(8), Offset: random.Uint64N(100)}
				m.End = min(m.Start+1+random.Uint64N(24), size)
				if at = m.End; m.Start >= m.End || random.IntN(3) == 0 {
					continue
				}
				modules = append(modules, m)
				for i := m.Start; i < m.End; i++ {
					want[i] = Module{Path: path, Start: i, End: i + 1, Offset: m.Offset + i - m.Start}
				}
			}
			random.Shuffle(len(modules), func(i, j int) { modules[i], modules[j] = modules[j], modules[i] })
			s = s.With(modules)
		}
		if !slices.IsSortedFunc(s.regions, func(a, b region) int { return int(a.End) - int(b.Start) - 1 }) {
			t.Fatalf("round %d: regions overlap: %+v", round, s.regions)
		}
		for i := range want {
			var got Module
			if g, ok := s.at(uint64(i)); ok {
				got = Module{Path: g.Path, Start: uint64(i), End: uint64(i) + 1, Offset: g.Offset + uint64(i) - g.Start}
			}
			if got != want[i] {
				t.Fatalf("round %d, address %d: %+v, want %+v", round, i, got, want[i])
			}
		}
	}
}
