package provider_test

import (
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
	var took [2]time.Duration
	for i, name := range []string{"frozen_first", "frozen_second"} {
		p := fresh(name, nil)
		provider.NewProbe0(p, "probe")
		start := time.Now()
		if err := p.Load(); err != nil {
			t.Error(err)
		}
		took[i] = time.Since(start)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if took[0] < time.Second || took[0] > time.Minute || took[1] > took[0]/2 {
		t.Errorf("took %v, want about 2 s and next to nothing", took)
	}
}
