package collection_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestCloseMeanwhile closes collections whose programs are being
// attached, by hand and by rescans. Nothing stays open, and the race detector
// sees no use of a closed program.
func TestCloseMeanwhile(t *testing.T) {
	selector := compile(t, "gcc", "-O2") + ":args:memory"
	spec := bpf.ReadSpec(t, newestObject)
	open := 0
	for round := range 9 {
		c := newCollection(t, spec, &collection.Options{Link: attach.PerfLink})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				opts := collection.Options{Rescan: tracee.RescanEvery(time.Millisecond), Cookie: uint64(i)}
				if _, err := c.AttachProgram(ctx, "any", selector, &opts); err != nil && !errors.Is(err, attach.ErrClosed) && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Duration(round) * time.Millisecond)
		wg.Go(cancel)
		wg.Go(func() { c.Close() })
		wg.Wait()
		if err := c.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			open = leftover.Descriptors(t)
		}
		leftover.Back(t, open)
	}
}
