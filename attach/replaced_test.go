package attach_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/reader"
)

// replace puts a copy of the file at path in its place.
func replace(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path+".new", data, 0o755)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestReplaced checks that a site is attached to in the file whose notes were
// read, and not in another file that is now at its path.
func TestReplaced(t *testing.T) {
	for _, kind := range []attach.LinkKind{attach.MultiLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) { testReplaced(t, kind) })
	}
}

func testReplaced(t *testing.T, kind attach.LinkKind) {
	path := compile(t, "gcc", "-O2")
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var probes []reader.Probe
	for p, err := range f.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		if p.Name == "bare" {
			probes = append(probes, p)
		}
	}
	_, prog := cookieProgram(t, kind)
	opts := &attach.ProgramOptions{Link: kind}
	a, err := attach.AttachProbes(prog, probes, opts)
	if err != nil {
		needMulti(t, err)
		needPrivileges(t, err)
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	replace(t, path)
	if a, err = attach.AttachProbes(prog, probes, opts); err == nil {
		a.Close()
	}
	if !errors.Is(err, attach.ErrNoSite) || !strings.Contains(err.Error(), "has been replaced") {
		t.Errorf("got %v, want an error that the file was replaced", err)
	}
}
