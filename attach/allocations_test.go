package attach_test

import (
	"runtime"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestAllocationsOfSites checks that attaching to one site more, listing it in the
// plan and detaching from it allocates no memory of its own.
func TestAllocationsOfSites(t *testing.T) {
	// allocations returns the least of several turns, since other goroutines allocate meanwhile: it ends
	// at a turn that is within enough.
	allocations := func(n int, enough uint64) uint64 {
		selectors := []string{compileMany(t, n) + ":many:*"}
		least := ^uint64(0)
		for turn := range 40 {
			if turn >= 4 && least <= enough { // the first asks what the kernel can do
				break
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s, err := attach.Open(t.Context(), selectors, &attach.Options{Link: attach.MultiLink})
			if err != nil {
				needPrivileges(t, err)
				needMulti(t, err)
				t.Fatal(err)
			}
			attached := s.Plan().Attached()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if attached != n {
				t.Fatalf("attached to %d sites, want %d", attached, n)
			}
			least = min(least, after.Mallocs-before.Mallocs)
		}
		return least
	}
	const few, many = 201, 2201
	small := allocations(few, ^uint64(0))
	enough := small + (many-few)/10
	large := allocations(many, enough)
	if large > enough {
		t.Errorf("%d allocations for %d sites and %d for %d, want less than one for ten more sites", small, few, large, many)
	}
}
