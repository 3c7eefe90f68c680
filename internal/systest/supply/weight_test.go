package supply_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// maxWeight is what three probes may add to a stripped program for amd64, in bytes.
// They add 397,312 with Go 1.26, of which local tracers (Options.Local) and the flight
// recorder (Options.FlightRecorder) take 110,592: with the tag usdt_nolocal, they add 286,720.
// The linker begins each of the file's three segments with a new page of 4096 bytes,
// so a few bytes more can be a page more.
const maxWeight = 400_000

// TestWeight builds a program with three probes and one without, which uses
// packages fmt, reflect and sync as well, and compares their sizes. To do so by hand:
//
//	cd internal/systest/supply/testdata/weight
//	for p in with without; do CGO_ENABLED=0 go build -ldflags='-s -w' -o /tmp/$p ./$p; done; ls -l /tmp/with /tmp/without
//
// If -ldflags is left out, go tool nm -size -sort size /tmp/with shows what weighs.
func TestWeight(t *testing.T) {
	t.Setenv("CGO_ENABLED", "0")
	t.Setenv("GOOS", "linux")
	t.Setenv("GOARCH", "amd64")
	size := func(program string) int64 {
		out := filepath.Join(t.TempDir(), program)
		needs.Run(t, "go", "build", "-ldflags=-s -w", "-o", out, "./testdata/weight/"+program)
		info, err := os.Stat(out)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	with, without := size("with"), size("without")
	if weight := with - without; weight > maxWeight || weight < maxWeight/2 {
		t.Errorf("three probes add %d bytes to a program of %d, want between %d and %d", weight, without, maxWeight/2, maxWeight)
	}
}
