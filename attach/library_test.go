package attach_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/reader"
)

// compileLibrary returns the program of testdata/reload.c and its library.
func compileLibrary(t *testing.T) (program, library string) {
	t.Helper()
	dir := t.TempDir()
	program, library = filepath.Join(dir, "reload"), filepath.Join(dir, "library.so")
	for _, args := range [][]string{
		{"-O1", "-shared", "-fPIC", "-Wl,-z,relro", "-o", library, "testdata/library.c"},
		{"-O1", "-o", program, "testdata/reload.c", "-ldl"},
	} {
		if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			needs.Skip(t, "needs gcc and sys/sdt.h: %v: %s", err, msg)
		}
	}
	return program, library
}

// reload has the program load the library n times and fire each time.
func reload(t *testing.T, p *tracee.Program, n int) (watched int) {
	t.Helper()
	if _, err := fmt.Sscan(p.Do("%d", n), &watched); err != nil {
		t.Fatalf("%v: %v", err, p.End())
	}
	return watched
}

// TestReload checks that a library is traced each time it is loaded, with its
// semaphore raised, whatever happened to its memory meanwhile.
func TestReload(t *testing.T) {
	exe, library := compileLibrary(t)
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			p := start(t, exec.Command(exe, library))
			s := open(t, library+":library:tick", &attach.Options{Link: kind})
			const n = 200
			if watched := reload(t, p, n); watched != n {
				t.Errorf("the library found itself watched %d times, want %d", watched, n)
			}
			events := drain(t, s)
			if len(events) != n {
				t.Errorf("%d events, want %d", len(events), n)
			}
			if err := s.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			if watched := reload(t, p, n); watched != 0 {
				t.Errorf("the library found itself watched %d times after the end", watched)
			}
		})
	}
}

// TestReloadMeanwhile attaches and detaches, in one process and in all, while the
// program loads and unloads the library. The program is not harmed, and nothing
// stays when the links, or perf events, are closed.
func TestReloadMeanwhile(t *testing.T) {
	exe, library := compileLibrary(t)
	p := start(t, exec.Command(exe, library))
	first := open(t, library+":library:tick", nil) // or skip
	first.Close()
	closed := []*attach.Session{first}
	n := 5000
	if testing.Short() {
		n = 500
	}
	done := make(chan int)
	go func() { done <- reload(t, p, n) }()
	for sessions := 0; ; sessions++ {
		select {
		case <-done:
			t.Logf("%d sessions", sessions)
			for _, s := range closed {
				if err := s.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if watched := reload(t, p, 10); watched != 0 {
				t.Errorf("the library found itself watched %d times after the end", watched)
			}
			if err := p.End(); err != nil {
				t.Error(err)
			}
			return
		default:
		}
		o := attach.Options{}
		selector := library + ":library:tick"
		if sessions%2 == 0 {
			o.Target.PIDs, selector = []int{p.PID()}, "library:tick"
		}
		s, err := attach.Open(t.Context(), []string{selector}, &o)
		if errors.Is(err, attach.ErrNoMatch) || errors.Is(err, attach.ErrNoSite) {
			continue // the library is not loaded just then
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		checkSum(t, s)
		closed = append(closed, s)
	}
}

// TestDeadSemaphores checks that probes whose semaphores would not count are
// refused, since they would be silent, and that Force attaches to them.
func TestDeadSemaphores(t *testing.T) {
	_, library := compileLibrary(t)
	s := open(t, library+":library:*", nil)
	for _, site := range s.Plan() {
		want := map[string]error{"relro": reader.ErrRelro, "bss": reader.ErrBss}[site.Probe.Name]
		switch {
		case want == nil:
			if !site.Attached {
				t.Errorf("%s: %v", site.Probe.Name, site.Reason)
			}
		case site.Attached || !errors.Is(site.Reason, attach.ErrSilent) || !errors.Is(site.Reason, want):
			t.Errorf("%s: attached %t, reason %v, want one that wraps ErrSilent and %q", site.Probe.Name, site.Attached, site.Reason, want)
		}
	}
	_, err := attach.Open(t.Context(), []string{library + ":library:relro"}, nil)
	if !errors.Is(err, attach.ErrNoSite) || strings.Count(err.Error(), "RELRO") != 1 {
		t.Errorf("error %v, want one that wraps ErrNoSite and says once why", err)
	}
	forced := open(t, library+":library:relro", &attach.Options{Force: true})
	if site := forced.Plan()[0]; !site.Attached || len(site.Notes) != 1 || !strings.HasPrefix(site.Notes[0], "forced: ") {
		t.Errorf("forced: attached %t, notes %q", site.Attached, site.Notes)
	}
}
