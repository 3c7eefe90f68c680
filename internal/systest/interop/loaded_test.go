package interop_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestSharedFile checks that processes with the same probes share one file, so
// that one attach traces all of them, also one that starts later.
func TestSharedFile(t *testing.T) {
	need(t)
	dir := filepath.Join(t.TempDir(), "objects")
	exe := needs.Build(t, "examples/hello")
	t.Setenv("USDT_BACKING", "file")
	t.Setenv("USDT_DIR", dir)
	first, _ := start(t, exe)
	second, _ := start(t, exe)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("directory holds %v (%v), want one object", files, err)
	}
	s, err := attach.Open(soon(t), []string{files[0] + ":hello:tick"}, &attach.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	third, _ := start(t, exe)
	missing := map[int]bool{first: true, second: true, third: true}
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if delete(missing, ev.PID); len(missing) == 0 {
			break
		}
	}
	if len(missing) > 0 {
		t.Errorf("no event from processes %v", missing)
	}
	if n := len(s.Plan()); n != 1 {
		t.Errorf("%d sites for three processes, want one", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range []int{first, second, third} {
		p := probe(t, pid, "hello", "tick")
		eventually(t, "the semaphore is 0 again", func() bool { return semaphore(t, p) == 0 })
	}
	if _, err := os.Stat(files[0]); err != nil {
		t.Error(err)
	}
}
