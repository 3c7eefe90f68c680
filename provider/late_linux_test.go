package provider_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/gate"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["nobodyloads"] = nobodyLoads }

// published waits until n probes are loaded, and returns how long that took.
func published(t testing.TB, p *provider.Provider, n int) time.Duration {
	t.Helper()
	begun := time.Now()
	for {
		if _, probes := provider.Loaded(p); probes == n {
			return time.Since(begun)
		} else if time.Since(begun) > time.Minute {
			t.Fatalf("%d probes are loaded, want %d", probes, n)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// TestLate checks that what is declared after Load is published within 10 ms, by itself,
// but not after Close, and that an equal declaration changes nothing.
func TestLate(t *testing.T) {
	p := newProvider("late")
	load(t, p)
	best, n := time.Hour, 0
	// A loaded machine takes longer at times, an emulated one always.
	for ; n < 10 || best > 10*time.Millisecond && n < 100 && !testing.Short(); n++ {
		late := provider.NewProbe0(p, fmt.Sprint("probe", n))
		best = min(best, published(t, p, n+1))
		provider.Watch(p, 1)
		if !late.Enabled() || !p.Enabled() {
			t.Fatal("not enabled though it is watched")
		}
		provider.Watch(p, -1)
		provider.NewProbe0(p, fmt.Sprint("probe", n))
	}
	if best > 10*time.Millisecond && !testing.Short() {
		t.Errorf("published after %v at best, want 10ms", best)
	}
	provider.NewProbe0(p, "closed")
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	provider.NewProbe0(p, "after")
	time.Sleep(30 * time.Millisecond) // in which the probe would be published
	if objects, _ := provider.Loaded(p); objects != 0 {
		t.Errorf("%d objects after Close", objects)
	}
	load(t, p)
	if _, probes := provider.Loaded(p); probes != n+2 {
		t.Errorf("%d probes after the next Load, want %d", probes, n+2)
	}
}

// TestLateOfAll checks late declarations of all providers, including providers that are made
// after LoadAll, and with its options.
func TestLateOfAll(t *testing.T) {
	if cmd := tracee.Again(t); cmd != nil {
		tracee.Pass(t, cmd)
		return
	}
	if err := provider.LoadAll(&provider.Options{Site: provider.SiteNop}); err != nil {
		t.Fatal(err)
	}
	p := provider.New("late_of_all", nil)
	provider.NewProbe0(p, "a")
	published(t, p, 1)
	if err := provider.CloseAll(); err != nil {
		t.Error(err)
	}
	provider.NewProbe0(p, "b")
	q := provider.New("late_after_all", nil)
	provider.NewProbe0(q, "a")
	time.Sleep(30 * time.Millisecond) // in which they would be published
	for _, p := range []*provider.Provider{p, q} {
		if objects, _ := provider.Loaded(p); objects != 0 {
			t.Errorf("%d objects of %s after CloseAll", objects, p.Name())
		}
	}
}

// TestLateFlood checks that many late declarations make few objects, also while a tracer
// watches all that it finds, and that they cost as little as others.
func TestLateFlood(t *testing.T) {
	const n = 10_000
	for _, watched := range []bool{false, true} {
		p := newProvider("flood")
		load(t, p)
		provider.NewProbe0(p, "first")
		published(t, p, 1)
		stop, stopped := make(chan bool), make(chan bool)
		most := 0
		go func() {
			defer close(stopped)
			for {
				objects, _ := provider.Loaded(p)
				most = max(most, objects)
				if watched {
					provider.WatchAll(p)
				}
				select {
				case <-stop:
					return
				default:
					time.Sleep(100 * time.Microsecond)
				}
			}
		}()
		for i := range n {
			provider.NewProbe1[int](p, fmt.Sprint("probe", i), "n")
			if i%100 == 0 {
				time.Sleep(time.Millisecond) // a slow flood is worse
			}
		}
		published(t, p, n+1)
		close(stop)
		<-stopped
		if most > 100 {
			t.Errorf("watched %v: %d objects for %d probes", watched, most, n)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLateAtOnce declares in many goroutines after Load, and fires at once.
func TestLateAtOnce(t *testing.T) {
	p := newProvider("lateatonce")
	load(t, p)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				provider.NewProbe2[int, string](p, fmt.Sprint("probe", (g*25+i)%100), "n", "s").Fire(i, "x")
			}
		})
	}
	wg.Wait()
	published(t, p, 100)
}

// TestLateInBubble declares in a bubble of testing/synctest, whose time stands still while
// the test works, and meanwhile outside.
func TestLateInBubble(t *testing.T) {
	p := newProvider("latebubble")
	load(t, p)
	synctest.Test(t, func(t *testing.T) {
		provider.NewProbe0(p, "inside")
		for range 60_000 { // a minute by the clock outside
			if _, probes := provider.Loaded(p); probes == 1 {
				return
			}
			unix.Poll(nil, 1)
		}
		t.Error("not published while the bubble's time stands still")
	})
	provider.NewProbe0(p, "outside")
	published(t, p, 2)
}

// TestLateForTracer checks that a late probe is published, and the tracer asked, before
// NewProbe returns, if a tracer has started the program.
func TestLateForTracer(t *testing.T) {
	if cmd := tracee.Again(t); cmd != nil {
		tracee.Pass(t, cmd)
		return
	}
	l, err := gate.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	name, address, _ := strings.Cut(l.Environment(), "=")
	t.Setenv(name, address)
	p := provider.New("late_for_tracer", nil)
	go l.Serve(func(pid int) bool { return pid == os.Getpid() }, func() { provider.WatchAll(p) }, func(time.Duration) { t.Error("not waited for") })
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 8 {
				if late := provider.NewProbe1[int](p, fmt.Sprint("probe", g, "_", i), "n"); !late.Enabled() {
					t.Errorf("probe %d of goroutine %d is not watched yet", i, g)
				}
			}
		})
	}
	wg.Wait()
	// A flood is published soon.
	for i := range 1000 {
		provider.NewProbe0(p, fmt.Sprint("flood", i))
	}
	published(t, p, 1032)
	if objects, _ := provider.Loaded(p); objects > 100 {
		t.Errorf("%d objects", objects)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// forNobody has a probe that is declared while the package is initialized, in the role.
var forNobody = provider.New("nobody_loads", nil)

const nobodyVariable = "USDT_TEST_NOBODY"

func init() {
	if os.Getenv(nobodyVariable) != "" {
		provider.NewProbe0(forNobody, "probe")
	}
}

// nobodyLoads is the role of a program that does not load its probes. It prints what is
// loaded, as soon as something is, or after the time that its argument names.
func nobodyLoads(args []string) error {
	patience, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	probes := 0
	for begun := time.Now(); probes == 0 && time.Since(begun) < patience; time.Sleep(time.Millisecond) {
		_, probes = provider.Loaded(forNobody)
	}
	fmt.Println(probes)
	if probes == 0 {
		return nil
	}
	// Main's options count all the same.
	dir, err := os.MkdirTemp("", "usdt")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := provider.LoadAll(&provider.Options{Backing: provider.BackingFile, Dir: dir}); err != nil {
		return err
	}
	files, err := os.ReadDir(dir)
	fmt.Println(len(files), err)
	return provider.CloseAll()
}

// TestLoadFromOutside checks that USDT_LOAD has probes loaded that the program does not
// load, but not with privileges that it gained.
func TestLoadFromOutside(t *testing.T) {
	needs.Root(t)
	const soon = "200ms" // enough to see what should not be loaded
	gained := tracee.Self("nobodyloads", soon)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "setgid")
	needs.Run(t, "cp", self, path)
	if err := os.Chown(path, 0, 12345); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o755|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	gained.Path = path
	for _, test := range []struct {
		cmd   *exec.Cmd
		value string
		want  string
	}{
		{tracee.Self("nobodyloads", "1m"), "1", "1\n1 <nil>\n"},
		{tracee.Self("nobodyloads", soon), "0", "0\n"},
		{tracee.Self("nobodyloads", soon), "", "0\n"},
		{gained, "1", "0\n"},
	} {
		test.cmd.Env = append(test.cmd.Env, "USDT_LOAD="+test.value, nobodyVariable+"=1")
		test.cmd.Stderr = os.Stderr
		out, err := test.cmd.Output()
		if err != nil || string(out) != test.want {
			t.Errorf("%s with USDT_LOAD=%s: %q, %v, want %q", filepath.Base(test.cmd.Path), test.value, out, err, test.want)
		}
	}
}
