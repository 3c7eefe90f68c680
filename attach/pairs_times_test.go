package attach_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/total"
)

// TestPairTimes compares the times that are added up with the times of the pairs, and has the fast
// ones counted that are not delivered.
func TestPairTimes(t *testing.T) { sharedToo(t, checkPairTimes) }

func checkPairTimes(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	opts := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
	for _, link := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		for _, slower := range []time.Duration{0, 20 * time.Millisecond, time.Hour} {
			opts.Link = link
			pairs := pairsBy(t, t.Context(), "lat:start", "lat:end", &attach.PairOptions{Key: []string{"id"}, Slower: slower, Times: true}, opts)
			if g, err := pairs.Times(); err != nil || g.Count != 0 {
				t.Errorf("before any pair: %+v, error %v", g, err)
			}
			began := time.Now()
			for _, command := range []string{"start 1 one", "end 1 one 200", "start 2 two", "end 2 two 200", "start 3 three", "sleep 30", "end 3 three 200", "end 9 none 200"} {
				p.Do("%s", command)
			}
			if err := pairs.Stop(); err != nil {
				t.Fatal(err)
			}
			elapsed := time.Since(began)
			delivered, sum := uint64(0), time.Duration(0)
			var hist []total.Bucket // of what was delivered
			for pair, err := range pairs.All() {
				if err != nil {
					t.Fatal(err)
				}
				delivered, sum = delivered+1, sum+pair.Took
				lo := float64(1)
				for 2*lo <= float64(pair.Took) {
					lo *= 2
				}
				hist = append(hist, total.Bucket{Lo: lo, Hi: 2 * lo, N: 1})
			}
			g, err := pairs.Times()
			if err != nil {
				t.Fatal(err)
			}
			counts, err := pairs.Counts()
			if err != nil || g.Count != 3 || counts.Pairs != 3 || counts.Fast+delivered != 3 || counts.Unstarted != 1 {
				t.Errorf("slower %v: %d pairs delivered, %d times, counts %+v, error %v", slower, delivered, g.Count, counts, err)
			}
			n := map[float64]uint64{}
			all := uint64(0)
			for _, b := range g.Hist {
				all, n[b.Lo] = all+b.N, b.N
			}
			if all != 3 {
				t.Errorf("slower %v: the histogram has %d of 3 pairs: %v", slower, all, g.Hist)
			}
			has := map[float64]uint64{}
			for _, b := range hist {
				if has[b.Lo] += b.N; has[b.Lo] > n[b.Lo] {
					t.Errorf("slower %v: a pair from %v ns is not in %v", slower, b.Lo, g.Hist)
				}
			}
			ns, _ := g.Sum.(uint64)
			took := time.Duration(ns)
			if slower == 0 && took != sum {
				t.Errorf("the sum is %v, of the pairs %v", took, sum)
			}
			if took < sum || took < 30*time.Millisecond || took > elapsed {
				t.Errorf("slower %v: the sum is %v of %v, %v were delivered", slower, took, elapsed, sum)
			}
			pairs.Close()
			if _, err := pairs.Times(); !errors.Is(err, attach.ErrClosed) {
				t.Errorf("Times after Close: %v", err)
			}
		}
	}
	pairs := pairsBy(t, t.Context(), "lat:start", "lat:end", &attach.PairOptions{Key: []string{"id"}}, opts)
	if _, err := pairs.Times(); err == nil {
		t.Error("Times were not asked for, and are there")
	}
}
