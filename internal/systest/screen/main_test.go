package screen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

func TestMain(m *testing.M) {
	tracee.Run(tracee.Roles{"fire": fire, "many": many})
	os.Exit(leftover.Run(m))
}

// fire fires the probes PROVIDER:often a thousand times a second and PROVIDER:seldom
// ten times, until its input ends.
func fire(args []string) error {
	p := provider.New(args[0], nil)
	often := provider.NewProbe2[uint64, string](p, "often", "number", "text")
	seldom := provider.NewProbe2[uint64, time.Duration](p, "seldom", "number", "took")
	if err := p.Load(); err != nil {
		return err
	}
	defer p.Close()
	fmt.Println("ready")
	ended := make(chan error)
	go func() {
		_, err := fmt.Scanln() // until the end
		ended <- err
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n := uint64(0); ; n++ {
		select {
		case <-ended:
			return nil
		case <-tick.C:
		}
		often.Fire(n, "it is\x1b[2Jtext")
		if n%100 == 0 {
			seldom.Fire(n, time.Duration(n%7)*time.Millisecond)
		}
	}
}

// manyProbes is how many probes the role many has.
const manyProbes = 3000

// many has many probes.
func many(args []string) error {
	p := provider.New(args[0], nil)
	for i := range manyProbes {
		provider.NewProbe1[int](p, fmt.Sprintf("probe_%d", i), "n")
	}
	if err := p.Load(); err != nil {
		return err
	}
	defer p.Close()
	fmt.Println("ready")
	fmt.Scanln()
	return nil
}

// start starts a role with a provider.
func start(t testing.TB, role, provider string) *tracee.Program {
	t.Helper()
	return tracee.Start(t, tracee.Self(role, provider)).Ready()
}

// build builds sdttrace.
func build(t testing.TB) string {
	t.Helper()
	return needs.Build(t, "cmd/sdttrace")
}

// checkClean checks that nobody is attached to a program's probes.
func checkClean(t testing.TB, p *tracee.Program) {
	t.Helper()
	r, err := reader.OpenProcess(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for probe, err := range r.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(probe.Path) == "" || probe.Live == nil || probe.SemaphoreOffset == 0 {
			continue
		}
		n++
		value, err := probe.SemaphoreValue()
		if err != nil {
			t.Fatal(err)
		}
		site, err := probe.Site()
		if err != nil {
			t.Fatal(err)
		}
		if value != 0 || site.State != reader.CleanSite {
			t.Errorf("%s:%s has semaphore %d and is %v, want 0 and clean", probe.Provider, probe.Name, value, site.State)
		}
	}
	if n == 0 {
		t.Error("no probe was looked at")
	}
}
