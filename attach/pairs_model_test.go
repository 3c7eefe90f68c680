package attach_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["pairsmodel"] = tracee.Obey(pairsModelChild()) }

// modelProbes is how many starts and ends a provider of the model has: attaching to many takes
// longer.
const modelProbes = 6

// pairsModelChild fires starts and ends that enclose each other, from several goroutines, each
// end with the number of its start, and says at the end how long the longest took.
func pairsModelChild() func(string) error {
	var ids, longest atomic.Uint64
	var running sync.WaitGroup
	stop := make(chan struct{})
	loaded := 0
	return func(command string) error {
		if command == "stop" {
			close(stop)
			running.Wait()
			fmt.Println(longest.Load())
			return nil
		}
		loaded++ // another provider, whose goroutines run before it is loaded
		p := provider.New(fmt.Sprintf("pairsmodel%d", loaded), nil)
		var starts, ends [modelProbes]*provider.Probe1[uint64]
		for i := range modelProbes {
			starts[i] = provider.NewProbe1[uint64](p, fmt.Sprintf("start%d", i), "id")
			ends[i] = provider.NewProbe1[uint64](p, fmt.Sprintf("end%d", i), "id")
		}
		for range 3 {
			running.Go(func() {
				var call func(depth int)
				call = func(depth int) {
					id, i, j := ids.Add(1), rand.IntN(modelProbes), rand.IntN(modelProbes)
					began := time.Now()
					starts[i].Fire(id)
					for depth < 4 && rand.IntN(3) > 0 {
						call(depth + 1)
					}
					if rand.IntN(8) == 0 {
						time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
					}
					ends[j].Fire(id)
					for took := uint64(time.Since(began)); ; {
						most := longest.Load()
						if took <= most || longest.CompareAndSwap(most, took) {
							return
						}
					}
				}
				for {
					select {
					case <-stop:
						return
					default:
						call(0)
					}
				}
			})
		}
		return p.Load()
	}
}

// TestPairsModel attaches and detaches while a program fires, and finds more probes meanwhile:
// no pair is one that the program did not make, and none took longer than the longest did.
func TestPairsModel(t *testing.T) { sharedToo(t, checkPairsModel) }

func checkPairsModel(t *testing.T) {
	p := startChild(t, "pairsmodel")
	p.Do("load")
	const start, end = "pairsmodel*:start*", "pairsmodel*:end*"
	o := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Rescan: 2 * time.Millisecond}
	var most uint64 // nanoseconds of a latency
	pairs := uint64(0)
	check := func(what string, s, e *event.Event) {
		if pairs++; s.Args[0].Value != e.Args[0].Value {
			t.Errorf("%s: a pair of start %v and end %v: %v to %v", what, s.Args[0].Value, e.Args[0].Value, s.Time, e.Time)
		}
	}
	random := rand.New(rand.NewPCG(5, 23))
	for round := 0; round < 6 || (most == 0 || pairs == 0) && round < 100; round++ { // a slow machine may fire nothing in some
		if round == 5 && wayOf(t) != shared {
			o.Link = attach.PerfLink
		}
		file := filepath.Join(t.TempDir(), fmt.Sprint(round))
		var opened sync.WaitGroup
		opened.Go(func() {
			ps := pairsBy(t, t.Context(), start, end, nil, &o)
			time.AfterFunc(time.Duration(10+random.IntN(40))*time.Millisecond, func() { ps.Stop() })
			for pair, err := range ps.All() {
				if err != nil {
					t.Error(err)
				}
				check("live", &pair.Start, &pair.End)
			}
			if err := ps.Close(); err != nil {
				t.Error(err)
			}
			checkSum(t, ps)
		})
		opened.Go(func() {
			l, err := attach.OpenLatency(t.Context(), start, end, nil, by(t, &o))
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(20 * time.Millisecond)
			if err := l.Stop(); err != nil {
				t.Error(err)
			}
			groups, err := l.Read()
			if err != nil {
				t.Error(err)
			}
			for _, g := range groups {
				most = max(most, g.Max.(uint64))
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			checkSum(t, l)
		})
		opened.Go(func() {
			recordFor(t, file, []string{start, end}, nil, by(t, &o), 20*time.Millisecond)
		})
		if round%2 == 1 {
			p.Do("load")
		}
		opened.Wait()
		replayed, err := attach.OpenPairs(t.Context(), start, end, nil, &attach.Options{Target: attach.Target{Recordings: []string{file}}})
		if err != nil {
			t.Fatal(err)
		}
		for pair, err := range replayed.All() {
			if err != nil {
				t.Error(err)
			}
			check("recorded", &pair.Start, &pair.End)
		}
		replayed.Close()
	}
	var longest uint64
	if _, err := fmt.Sscan(p.Do("stop"), &longest); err != nil {
		t.Fatal(err)
	}
	if most > longest || most == 0 || pairs == 0 {
		t.Errorf("the longest latency is %v, that of the program %v; %d pairs", time.Duration(most), time.Duration(longest), pairs)
	}
}

// recordFor writes what fires within some time to a file.
func recordFor(t *testing.T, path string, selectors []string, what *attach.RecordOptions, o *attach.Options, d time.Duration) {
	f, err := os.Create(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	r, err := attach.Record(t.Context(), selectors, what, o)
	if err != nil {
		t.Error(err)
		return
	}
	time.AfterFunc(d, func() { r.Stop() })
	if err := r.Write(f, nil); err != nil && !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
