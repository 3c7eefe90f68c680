package attach_test

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["flood"] = tracee.Obey(floodChild()) }

// floodChild fires from several threads at once.
func floodChild() func(string) error {
	p := provider.New("flood", nil)
	number := provider.NewProbe2[uint64, uint32](p, "number", "n", "thread")
	text := provider.NewProbe2[uint64, string](p, "text", "n", "text")
	return func(command string) error {
		if command == "load" {
			return p.Load()
		}
		var threads, each int
		if _, err := fmt.Sscanf(command, "%d %d", &threads, &each); err != nil {
			return err
		}
		var wg sync.WaitGroup
		for thread := range threads {
			wg.Go(func() {
				for n := range each {
					number.Fire(uint64(n), uint32(thread))
					if n%4 == 0 {
						text.Fire(uint64(n), "some text that takes room")
					}
				}
			})
		}
		wg.Wait()
		return nil
	}
}

// TestOverrun overruns the smallest ring from several threads. Every firing that
// the program has counted is received, lost or filtered, and none is two.
func TestOverrun(t *testing.T) {
	const threads = 4
	each := 20_000
	if testing.Short() {
		each = 2000
	}
	fired := uint64(threads * (each + each/4))
	half := fmt.Sprintf("n >= %d", each/2)
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		for _, test := range []struct {
			name  string
			where string
			limit int // events that are asked for, no more than the ring holds; 0 for all
		}{
			{"all", "", 0},
			{"condition", half, 0},
			{"limit", "", 20},
			{"condition and limit", half, 20},
		} {
			t.Run(kind.String()+" "+test.name, func(t *testing.T) {
				p := startChild(t, "flood")
				p.Do("load")
				s := openEvents(t, "flood:*", &attach.EventOptions{RingSize: os.Getpagesize()}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Link: kind, Where: test.where})
				var received atomic.Uint64
				var reader sync.WaitGroup
				reader.Go(func() {
					for _, err := range s.Events() {
						if err != nil {
							t.Error(err)
						}
						if received.Add(1) == uint64(test.limit) {
							return
						}
					}
				})
				p.Do("%d %d", threads, each)
				if test.limit > 0 {
					reader.Wait()
				} else if err := s.Stop(); err != nil {
					t.Fatal(err)
				}
				reader.Wait()
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				st := checkSum(t, s)
				filtered := uint64(0)
				if test.where != "" {
					filtered = fired / 2
				}
				if st.Fired != fired || st.Received != received.Load() || st.Lost == 0 || st.Filtered != filtered ||
					test.limit == 0 && st.Unread != 0 || test.limit > 0 && (st.Received != uint64(test.limit) || st.Unread == 0) {
					t.Errorf("stats %+v, want %d fired, %d received, %d filtered and some lost", st, fired, received.Load(), filtered)
				}
				if err := p.End(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
