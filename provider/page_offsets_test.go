//go:build linux

package provider_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"testing"

	"github.com/go-usdt/usdt/provider"
)

// TestBeginning checks where sites and semaphores lie in their pages. Objects of
// different contents lie apart, so that no object finds a uprobe which the kernel has
// leaked from another. Where the sites of two small objects do meet, so do their
// semaphores. Sites cross no page and take no more pages than they need.
func TestBeginning(t *testing.T) {
	page := uint64(os.Getpagesize())
	semaphores := map[uint64]uint64{} // by the site, of small objects
	starts := map[uint64]bool{}
	const small = 40 // objects
	for _, n := range []int{1, 3, 50, 300, 512, 700} {
		objectsOf := small
		if n > 50 {
			objectsOf = 5
		}
		for i := range objectsOf {
			p := newProvider(fmt.Sprintf("place%d", i))
			for j := range n {
				provider.NewProbe0(p, fmt.Sprintf("probe%d", j))
			}
			load(t, p)
			f, err := elf.NewFile(bytes.NewReader(objects(t, p)[0]))
			if err != nil {
				t.Fatal(err)
			}
			text, probes := f.Section(".text"), f.Section(".probes")
			if text.Addr%16 != 0 {
				t.Fatalf("%d probes: stubs begin at %#x, want a multiple of 16", n, text.Addr)
			}
			stride := text.Size / uint64(n)
			pages := (text.Size + page - 1) / page
			if last := (text.Addr%page + text.Size - 1) / page; last >= pages {
				t.Fatalf("%d probes: stubs take %d pages, want %d", n, last+1, pages)
			}
			if n == 1 {
				starts[text.Addr%page] = true
			}
			for j := range uint64(n) {
				at := text.Addr + j*stride
				if at/page != (at+stride-1)/page {
					t.Fatalf("%d probes: the stub at %#x crosses a page", n, at)
				}
				if n > 50 {
					continue
				}
				semaphore := probes.Addr + j*4
				if other, ok := semaphores[at]; ok && other != semaphore {
					t.Fatalf("%d probes: the semaphore of the site at %#x is at %#x, that of another object at %#x", n, at, semaphore, other)
				}
				semaphores[at] = semaphore
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Each object has a start of its own, except for a few that share one by chance.
	if len(starts) < small/2 {
		t.Errorf("%d objects of one probe begin at %d places", small, len(starts))
	}
}
