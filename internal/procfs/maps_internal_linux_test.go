package procfs

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// repeated is a reader of n lines.
type repeated struct {
	line string
	n    int
	rest string
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.rest = r.line
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// TestLargeMaps reads the memory maps of a process that maps a file with a long path
// as often as it can, and checks that memory grows only with the number of mappings,
// and that endless maps are an error.
func TestLargeMaps(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it reads what no kernel writes")
	}
	line := "1000-2000 r-xp 00000000 08:01 7 /" + strings.Repeat("a", 4000) + "\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const n = 60_000
	maps, err := readMaps(&repeated{line: line, n: n})
	runtime.ReadMemStats(&after)
	if err != nil || len(maps) != n || maps[n-1].Inode != 7 {
		t.Fatalf("got %d mappings, %v", len(maps), err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
		t.Errorf("%d MiB for %d MiB of maps", got>>20, n*len(line)>>20)
	}
	want := fmt.Sprintf("more than the %d MiB", maxMaps>>20)
	if _, err := readMaps(&repeated{line: line, n: -1}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
