package attach_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/leftover"
)

// closable is what sessions of all kinds have.
type closable interface {
	Rescan() error
	Stop() error
	Close() error
	Wait(ctx context.Context) error
}

// TestCloseMeanwhile stops and closes sessions of every kind while rescans attach to more, and ends others
// while they are being opened: nothing stays attached or open, and the race detector sees nothing.
func TestCloseMeanwhile(t *testing.T) { sharedToo(t, checkCloseMeanwhile) }

func checkCloseMeanwhile(t *testing.T) {
	const start, end = "pairsunseen*:start", "pairsunseen*:end"
	kinds := map[string]func(ctx context.Context, o *attach.Options) (closable, error){
		"session": func(ctx context.Context, o *attach.Options) (closable, error) {
			return attach.Open(ctx, []string{start}, o)
		},
		"aggregate": func(ctx context.Context, o *attach.Options) (closable, error) {
			return attach.OpenAggregate(ctx, []string{start}, attach.Count().By("id"), o)
		},
		"latency": func(ctx context.Context, o *attach.Options) (closable, error) {
			return attach.OpenLatency(ctx, start, end, &attach.LatencyOptions{Key: []string{"id"}, By: []string{"id"}}, o)
		},
		"pairs": func(ctx context.Context, o *attach.Options) (closable, error) {
			return attach.OpenPairs(ctx, start, end, nil, o)
		},
		"record": func(ctx context.Context, o *attach.Options) (closable, error) {
			r, err := attach.Record(ctx, []string{start, end}, nil, o)
			if err == nil {
				go r.Write(io.Discard, nil)
			}
			return r, err
		},
	}
	for kind, open := range kinds {
		opened, descriptors := 0, 0
		p := startChild(t, "pairsunseen")
		p.Do("load")
		for round := range 12 {
			o := by(t, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Rescan: time.Hour})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if round%2 == 1 {
				time.AfterFunc(time.Duration(round)*5*time.Millisecond, cancel)
			}
			s, err := open(ctx, o)
			if round%2 == 0 {
				needPrivileges(t, err)
			}
			if err != nil && (round%2 == 0 || !errors.Is(err, context.Canceled)) {
				t.Fatalf("%s: %v", kind, err)
			}
			if err == nil {
				opened++
				p.Do("load")
				var rescans sync.WaitGroup
				for range 2 {
					rescans.Go(func() { s.Rescan() })
				}
				time.Sleep(time.Duration(round) * time.Millisecond)
				if round%4 == 0 {
					if err := s.Stop(); err != nil {
						t.Errorf("%s: %v", kind, err)
					}
					rescans.Wait()
					if wayOf(t) != shared { // which ends with Close
						p.Do("idle")
					}
				}
				if err := s.Close(); err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", kind, err)
				}
				rescans.Wait()
				if err := s.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}
			p.Do("idle")
			if round == 0 {
				descriptors = leftover.Descriptors(t)
			}
			leftover.Back(t, descriptors)
		}
		if opened < 3 {
			t.Errorf("%s: %d were opened", kind, opened)
		}
	}
}
