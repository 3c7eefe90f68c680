package attach_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// TestAwaitMisfit waits for a probe that has not the argument of a condition or a key. Tracing
// fails when the probe appears, each way, as it does if the probe is there.
func TestAwaitMisfit(t *testing.T) { sharedToo(t, checkAwaitMisfit) }

func checkAwaitMisfit(t *testing.T) {
	options := func(where string) *attach.Options {
		return by(t, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Rescan: time.Hour, Await: true, Where: where})
	}
	p := provider.New("misfit", &provider.Options{Local: true})
	provider.NewProbe1[uint32](p, "tick", "n")
	s, err := attach.Open(t.Context(), []string{"misfit:tick"}, options("nosuch > 1"))
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer s.Close()
	a, err := attach.OpenAggregate(t.Context(), []string{"misfit:tick"}, attach.Count().By("nosuch"), options(""))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := errors.Join(s.Rescan(), a.Rescan()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		var last error
		for _, err := range s.Events() {
			last = err
		}
		failed <- last
	}()
	select {
	case err := <-failed:
		if where := (*attach.WhereError)(nil); !errors.As(err, &where) {
			t.Errorf("the session ends with %v, want a WhereError", err)
		}
	case <-ctx.Done():
		t.Fatal("the session is silent")
	}
	if _, err := a.Read(); err == nil {
		t.Error("the aggregate can be read")
	}
}
