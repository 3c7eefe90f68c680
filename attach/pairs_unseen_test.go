package attach_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["pairsunseen"] = tracee.Obey(pairsUnseenChild()) }

// pairsUnseenChild fires starts and ends of providers that are loaded one after the other, all in
// one goroutine: "load", "start PROVIDER ID", "end PROVIDER ID". "idle" waits
// until none of them is watched.
func pairsUnseenChild() func(string) error {
	type probes struct{ start, end *provider.Probe1[uint64] }
	var all []probes
	return func(command string) error {
		var what string
		var n int
		var id uint64
		switch fmt.Sscan(command, &what, &n, &id); what {
		case "idle":
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
				i := slices.IndexFunc(all, func(p probes) bool { return p.start.Enabled() || p.end.Enabled() })
				if i < 0 {
					break
				}
				if time.Now().After(deadline) {
					return fmt.Errorf("provider %d is watched", i)
				}
			}
		case "start":
			all[n].start.Fire(id)
		case "end":
			all[n].end.Fire(id)
		default:
			p := provider.New(fmt.Sprintf("pairsunseen%d", len(all)), nil)
			all = append(all, probes{provider.NewProbe1[uint64](p, "start", "id"), provider.NewProbe1[uint64](p, "end", "id")})
			return p.Load()
		}
		return nil
	}
}

// TestPairsUnseen finds a provider while frames are open: what it has fired before, and what was
// open then, becomes no pair, live and in a recording; what begins later does.
func TestPairsUnseen(t *testing.T) { sharedToo(t, checkPairsUnseen) }

func checkPairsUnseen(t *testing.T) {
	const start, end = "pairsunseen*:start", "pairsunseen*:end"
	for i, test := range []struct {
		before, late string // what fires before the second provider is loaded, until it is found, and then
		after        []string
		pairs        int
	}{
		{"start 0 1", "start 1 2", []string{"end 1 2", "end 0 1", "start 0 3", "end 0 3"}, 1},
		{"start 0 1", "start 1 2", []string{"end 0 2", "end 1 1", "start 1 3", "end 0 3"}, 1}, // a frame that begins in one ends in the other
		{"start 0 1", "end 1 1", []string{"start 0 2", "start 1 3", "end 1 3", "end 0 2"}, 2},
		{"start 0 1", "start 1 2", []string{"start 1 3", "end 0 3", "end 1 2", "end 0 1"}, 1},
	} {
		p := startChild(t, "pairsunseen")
		p.Do("load")
		o := by(t, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Rescan: time.Hour})
		pairs := pairsBy(t, t.Context(), start, end, nil, o)
		latency, err := attach.OpenLatency(t.Context(), start, end, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		defer latency.Close()
		spans := openSpans(t, nil, &attach.SpanOptions{Spans: []attach.Span{{Start: start, End: end}}}, o)
		r, err := attach.Record(t.Context(), []string{start, end}, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		written := make(chan error, 1)
		go func() { written <- r.Write(file, nil) }()

		p.Do("%s", test.before)
		p.Do("load")
		p.Do("%s", test.late)
		for _, s := range []interface{ Rescan() error }{pairs, latency, spans, r} {
			if err := s.Rescan(); err != nil {
				t.Fatal(err)
			}
		}
		for _, command := range test.after {
			p.Do("%s", command)
		}
		r.Stop()
		if err := <-written; err != nil {
			t.Error(err)
		}
		r.Close()
		got := map[string]int{"pairs": 0, "spans": 0, "recorded": 0}
		add := func(what string, start, end any) {
			if got[what]++; start != end {
				t.Errorf("test %d: %s: a pair of %v and %v", i, what, start, end)
			}
		}
		pairs.Stop()
		for pair, err := range pairs.All() {
			if err != nil {
				t.Error(err)
			}
			add("pairs", pair.Start.Args[0].Value, pair.End.Args[0].Value)
		}
		spans.Stop()
		for one, err := range spans.All() {
			if err != nil {
				t.Error(err)
			}
			for _, pair := range one.Pairs {
				add("spans", pair.Start.Args[0].Value, one.Event.Args[0].Value)
			}
		}
		replayed, err := attach.OpenPairs(t.Context(), start, end, nil, &attach.Options{Target: attach.Target{Recordings: []string{path}}})
		if err != nil {
			t.Fatal(err)
		}
		for pair, err := range replayed.All() {
			if err != nil {
				t.Error(err)
			}
			add("recorded", pair.Start.Args[0].Value, pair.End.Args[0].Value)
		}
		latency.Stop()
		groups, err := latency.Read()
		if err != nil {
			t.Error(err)
		}
		for _, g := range groups {
			got["latency"] += int(g.Count)
		}
		// The process, or the kernel, says when more is loaded: all may have been seen.
		for _, what := range []string{"pairs", "spans", "recorded", "latency"} {
			if n := got[what]; n < test.pairs || n > 3 {
				t.Errorf("test %d: %d %s; want at least %d", i, n, what, test.pairs)
			}
		}
		for _, s := range []interface {
			Stats() (attach.Stats, error)
		}{pairs, latency, spans, replayed} {
			if st := checkSum(t, s); st.Lost != 0 {
				t.Errorf("test %d: %T: %+v", i, s, st)
			}
		}
		replayed.Close()
	}
}
