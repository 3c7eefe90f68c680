package provider_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/await"
	"github.com/go-usdt/usdt/provider"
)

// TestFrozenTracer checks that Load waits once, for a bounded time, for a tracer that
// has started the program and does not answer, and then not again.
func TestFrozenTracer(t *testing.T) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@usdt-frozen-" + t.TempDir(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	defer func(bound time.Duration) { *provider.TracerTime = bound }(*provider.TracerTime)
	*provider.TracerTime = 2 * time.Second
	t.Setenv(await.Variable, l.Addr().String())
	loads := func(name string) time.Duration {
		p := fresh(name, nil)
		provider.NewProbe0(p, "probe")
		start := time.Now()
		if err := p.Load(); err != nil {
			t.Error(err)
		}
		took := time.Since(start)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		return took
	}
	first, later := loads("frozen_first"), time.Hour
	for n := 0; n < 10 && later > time.Second; n++ { // the machine may stand still meanwhile
		later = min(later, loads(fmt.Sprint("frozen_later", n)))
	}
	if first < time.Second || first > time.Minute || later > time.Second {
		t.Errorf("took %v, and later %v at best, want about 2 s and next to nothing", first, later)
	}
}
