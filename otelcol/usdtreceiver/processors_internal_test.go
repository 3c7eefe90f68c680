package usdtreceiver

import (
	"os"
	"path/filepath"
	"testing"
)

// TestProcessorTimeOfExe checks that the time of a target is found by whichever path names its program.
func TestProcessorTimeOfExe(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	const enough = 5 * tickOfClock
	for own, _ := statOf("self"); own.used < enough; own, _ = statOf("self") {
	}
	for _, c := range []struct {
		target Target
		want   bool
	}{
		{Target{Exe: exe}, true},
		{Target{Exe: link}, true},
		{Target{Exe: link, Comm: "another"}, false},
		{Target{Exe: other}, false},
	} {
		if p := newProcessorTime(&c.target); p.used >= enough != c.want {
			t.Errorf("%+v: %v, want at least %v: %v", c.target, p.used, enough, c.want)
		}
	}
}
