package attach_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// lateSites is how many probes lateProbes declares.
const lateSites = 20

// lateProbes declares one probe after the other, has each found by rescan, and fires it once.
func lateProbes(t *testing.T, rescan func() error) {
	for i := range lateSites {
		p := provider.New(fmt.Sprintf("late%d", i), &provider.Options{Local: true})
		probe := provider.NewProbe1[int](p, "hit", "n")
		if err := p.Load(); err != nil {
			t.Error(err)
			return
		}
		defer p.Close()
		if err := rescan(); err != nil {
			t.Error(err)
		}
		probe.Fire(i)
	}
}

// TestReadLate reads groups while sites are found: each event is counted once, and the race
// detector sees what finding and reading share.
func TestReadLate(t *testing.T) {
	everyWay(t, func(t *testing.T) {
		o := own()
		o.Await, o.Rescan = true, time.Hour
		a := openAggregate(t, []string{"late*:hit"}, attach.Count().By("probe"), &o)
		fired := make(chan bool)
		go func() {
			defer close(fired)
			lateProbes(t, a.RescanHeld)
		}()
		counts := map[string]uint64{}
		for over := false; !over; {
			select {
			case <-fired:
				over = true
			default:
			}
			for _, g := range readGroups(t, a) {
				counts[fmt.Sprint(g.By[0].Value)] += g.Count
			}
		}
		for i := range lateSites {
			if n := counts[fmt.Sprintf("late%d:hit", i)]; n != 1 {
				t.Errorf("probe %d was counted %d times, want once: %v", i, n, counts)
			}
		}
	})
}

// TestPairsLate does so with pairs.
func TestPairsLate(t *testing.T) {
	sharedToo(t, func(t *testing.T) {
		o := own()
		o.Await, o.Rescan = true, time.Hour
		p, err := attach.OpenPairs(t.Context(), "late*:begin", "late*:hit", &attach.PairOptions{Key: []string{"n"}}, by(t, &o))
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		defer p.Close()
		begins := provider.New("latebegin", &provider.Options{Local: true})
		begin := provider.NewProbe1[int](begins, "begin", "n")
		if err := begins.Load(); err != nil {
			t.Fatal(err)
		}
		defer begins.Close()
		go func() {
			lateProbes(t, func() error {
				err := p.RescanHeld()
				for i := range lateSites {
					begin.Fire(i)
				}
				return err
			})
			p.Stop()
		}()
		n := 0
		for _, err := range p.All() {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		if n != lateSites {
			t.Errorf("%d pairs, want %d", n, lateSites)
		}
	})
}
