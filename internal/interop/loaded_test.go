package interop_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestDlopened holds that gdb finds the probes of an object that the dynamic
// linker loaded in a live process, and that they can be traced.
func TestDlopened(t *testing.T) {
	need(t, "gdb", "gcc")
	exe := filepath.Join(t.TempDir(), "dlopened")
	cmd := exec.Command("go", "build", "-tags", "usdt_dlopen", "-o", exe, "./testdata/dlopened")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	pid, _ := start(t, exe)
	out := output(t, "gdb", "-nx", "-batch", "-p", fmt.Sprint(pid), "-ex", "info probes stap hello")
	if !regexp.MustCompile(`hello\s+tick\s+0x[0-9a-f]+\s+0x[0-9a-f]+`).MatchString(out) {
		t.Errorf("gdb does not list the live probe:\n%s", out)
	}
	if got := values(trace(t, pid, "hello:tick", func() {})); !strings.Contains(got, "msg=tick ") {
		t.Errorf("got %s", got)
	}
}

// TestSharedFile holds that processes with the same probes share one file, so
// that one attach traces all of them, also one that starts later.
func TestSharedFile(t *testing.T) {
	need(t)
	dir := filepath.Join(t.TempDir(), "objects")
	exe := build(t, "examples/hello")
	t.Setenv("USDT_BACKING", "file")
	t.Setenv("USDT_DIR", dir)
	first, _ := start(t, exe)
	second, _ := start(t, exe)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("directory holds %v (%v), want one object", files, err)
	}
	s, err := attach.Open(files[0]+":hello:tick", &attach.Options{Context: t.Context()})
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
