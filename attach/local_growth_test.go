package attach_test

import (
	"cmp"
	"encoding/json"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// TestLocalGrowth checks that sessions of the whole machine do not grow while processes
// that offer their probes come and go, whether their events are delivered or added up:
// no site keeps its number.
func TestLocalGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("short: loads and closes many times, and no kernel makes a difference")
	}
	t.Setenv("USDT_LOCAL", "1")
	o := &attach.Options{Target: attach.Target{Via: attach.ViaLocal}, Rescan: time.Hour, Await: true}
	s, err := attach.Open(t.Context(), []string{"localgrowth:*"}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	counts, err := attach.OpenAggregate(t.Context(), []string{"localgrowth:*"}, attach.Sum("n").By("probe"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer counts.Close()
	latency, err := attach.OpenLatency(t.Context(), "localgrowth:begin", "localgrowth:end", &attach.LatencyOptions{Key: []string{"n"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer latency.Close()
	values, read := make(chan any), make(chan struct{})
	go func() {
		defer close(read)
		for ev, err := range s.Events() {
			if err != nil {
				t.Error(err)
			}
			values <- ev.Args[0].Value
		}
	}()
	rescan := func() {
		for _, r := range []interface{ Rescan() error }{s, counts, latency} {
			if err := r.Rescan(); err != nil {
				t.Fatal(err)
			}
		}
	}
	turns := cmp.Or(*growthProcesses, 25)
	for turn := range turns {
		p := provider.New("localgrowth", nil)
		begin := provider.NewProbe1[int](p, "begin", "n")
		end := provider.NewProbe1[int](p, "end", "n")
		if err := p.Load(); err != nil {
			t.Fatal(err)
		}
		for s.Plan().Attached() != 2 || counts.Plan().Attached() != 2 || latency.Plan().Attached() != 2 {
			rescan()
			if t.Context().Err() != nil {
				t.Fatal("the probes are not found")
			}
		}
		begin.Fire(turn)
		end.Fire(turn)
		for range 2 {
			if got := <-values; got != int64(turn) {
				t.Fatalf("argument %v in turn %d", got, turn)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		for s.Plan().Attached()+counts.Plan().Attached()+latency.Plan().Attached() > 0 {
			s.Idle() // looks at the rings
			if _, err := counts.Stats(); err != nil {
				t.Fatal(err)
			}
			if _, err := latency.Stats(); err != nil {
				t.Fatal(err)
			}
			rescan()
		}
		for s.Leaving()+counts.Leaving()+latency.Leaving() > 0 {
			rescan()
			if t.Context().Err() != nil {
				t.Fatal("somebody has a record of sites that have ended")
			}
		}
	}
	for name, n := range map[string]int{"the session": attach.SiteNumbers(s), "the aggregate": attach.AggregateSiteNumbers(counts), "the latency": attach.LatencySiteNumbers(latency)} {
		if n > 12 {
			t.Errorf("%s has numbers for %d sites after %d turns of two", name, n, turns)
		}
	}
	groups, err := counts.Read()
	if text, _ := json.Marshal(groups); err != nil || len(groups) != 2 || groups[0].Count != uint64(turns) || groups[1].Sum != int64(turns*(turns-1)/2) {
		t.Errorf("groups %s, %v after %d turns", text, err, turns)
	}
	if pairs, err := latency.Pairs(); err != nil || pairs != (attach.PairStats{Pairs: uint64(turns)}) {
		t.Errorf("%+v, %v after %d turns", pairs, err, turns)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	<-read
	if st := checkSum(t, s); st.Fired != uint64(2*turns) || st.Lost != 0 {
		t.Errorf("stats %+v after %d turns", st, turns)
	}
}
