package attach_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestOverlays traces two containers of one image: what fires in either is one
// event, also in one that starts later, although maps and stat give their
// program an identity of its own.
func TestOverlays(t *testing.T) {
	lower := filepath.Dir(compile(t, "gcc", "-O2"))
	mounts := tracee.Overlays(t, lower)
	first := start(t, exec.Command(filepath.Join(mounts[0], "args")))
	first.Do("")
	selector := filepath.Join(filepath.Dir(filepath.Dir(mounts[0])), "*", "merged", "args") + ":args:bare"
	s := open(t, selector, &attach.Options{Rescan: tracee.RescanEvery(5 * time.Millisecond)})
	second := start(t, exec.Command(filepath.Join(mounts[1], "args")))
	both := open(t, selector, nil)
	for range 3 {
		first.Do("")
	}
	second.Do("")
	time.Sleep(100 * time.Millisecond) // some scans: nothing is to happen
	second.Do("")
	for name, s := range map[string]*attach.Session{"one before the other": s, "both": both} {
		if n := s.Plan().Attached(); n != 1 {
			t.Errorf("%s: attached to %d sites, want 1", name, n)
		}
		fired := map[int]int{}
		for _, ev := range drain(t, s) {
			fired[ev.PID]++
		}
		if fired[first.PID()] != 3 || fired[second.PID()] != 2 {
			t.Errorf("%s: %d and %d events, want 3 and 2", name, fired[first.PID()], fired[second.PID()])
		}
		checkSum(t, s)
	}
}

// TestExecutableOnOverlay selects an executable on an overlay of two file systems, for which the
// kernel has another device than stat.
func TestExecutableOnOverlay(t *testing.T) {
	needs.Root(t)
	lower := t.TempDir()
	if err := unix.Mount("lower", lower, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(lower, unix.MNT_DETACH) })
	needs.Run(t, "cp", compile(t, "gcc", "-O2"), lower)
	path := filepath.Join(tracee.Overlays(t, lower)[0], "args")
	p := start(t, exec.Command(path))
	s := open(t, path+":args:bare", &attach.Options{Target: attach.Target{Exe: path}})
	p.Do("")
	if n := len(drain(t, s)); n != 1 {
		t.Errorf("got %d events, want 1", n)
	}
	checkSum(t, s)
}

// TestOtherPaths selects probes of one file by several of its paths.
func TestOtherPaths(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	link, hard := filepath.Join(t.TempDir(), "link"), filepath.Join(filepath.Dir(path), "hard")
	if err := errors.Join(os.Symlink(path, link), os.Link(path, hard)); err != nil {
		t.Fatal(err)
	}
	p := start(t, exec.Command(path))
	p.Do("")
	s, err := attach.Open(t.Context(), []string{link + ":args:bare", path + ":args:text", hard + ":args:t*"}, nil)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer s.Close()
	p.Do("")
	fired := map[string]int{}
	for _, ev := range drain(t, s) {
		if ev.PID == p.PID() {
			fired[ev.Name]++
		}
	}
	if len(fired) != 2 || fired["bare"] != 1 || fired["text"] != 1 {
		t.Errorf("got %v, want bare and text once", fired)
	}
	a, err := attach.OpenLatency(t.Context(), path+":args:ints", hard+":args:bare", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p.Do("")
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	if pairs, err := a.Pairs(); err != nil || pairs.Pairs != 1 {
		t.Errorf("latency by two paths: %+v, %v", pairs, err)
	}
}
