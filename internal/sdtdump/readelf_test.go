package sdtdump

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// site is what readelf -n prints about a probe.
type site struct {
	Provider, Name            string
	Location, Base, Semaphore uint64
	Args                      string
}

// TestAgainstReadelf compares the lists of sdtdump and readelf for every file with
// probes that the machine's packages installed.
func TestAgainstReadelf(t *testing.T) {
	needs.Tools(t, "readelf")
	files := filesWithProbes(t, "/usr/bin", "/usr/sbin", "/usr/lib")
	if len(files) == 0 {
		needs.Skip(t, "no file below /usr has probes")
	}
	sites := 0
	for _, path := range files {
		sites += compareReadelf(t, path)
	}
	t.Logf("%d sites in %d files", sites, len(files))
}

// compareReadelf checks that sdtdump lists the same probes as readelf -n for the file
// at path and understands every argument. It returns the number of sites.
func compareReadelf(t *testing.T, path string) int {
	t.Helper()
	want := readelf(t, path)
	var stdout, stderr bytes.Buffer
	if code := Run([]string{"--json", path}, &stdout, &stderr); code != exitDone || stderr.Len() > 0 {
		t.Errorf("sdtdump %s: exit code %d, %s", path, code, &stderr)
		return 0
	}
	var got []site
	for dec := json.NewDecoder(&stdout); dec.More(); {
		var p jsonProbe
		if err := dec.Decode(&p); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got = append(got, site{p.Provider, p.Name, *p.Location, p.Base, p.Semaphore, *p.Args})
		for _, a := range p.Arguments {
			if a.Error != "" {
				t.Errorf("%s: %s:%s: argument %q: %s", path, p.Provider, p.Name, a.Text, a.Error)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: readelf (-) and sdtdump (+) differ:\n%s", path, diff)
	}
	return len(got)
}

// filesWithProbes finds files without this module's own reader.
func filesWithProbes(t *testing.T, dirs ...string) []string {
	t.Helper()
	var out []string
	for _, dir := range dirs {
		filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			f, err := elf.Open(path)
			if err != nil {
				return nil
			}
			defer f.Close()
			if f.Type != elf.ET_REL && f.Section(".note.stapsdt") != nil {
				out = append(out, path)
			}
			return nil
		})
	}
	return out
}

func readelf(t *testing.T, path string) []site {
	t.Helper()
	text, err := exec.Command("readelf", "-nW", path).Output()
	if err != nil {
		t.Fatalf("readelf %s: %v", path, err)
	}
	var out []site
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if _, provider, ok := strings.Cut(line, "NT_STAPSDT (SystemTap probe descriptors)\t    Provider: "); ok {
			out = append(out, site{Provider: provider})
		}
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "Name":
			out[len(out)-1].Name = value
		case "Location":
			s := &out[len(out)-1]
			if _, err := fmt.Sscanf(line, "Location: %v, Base: %v, Semaphore: %v", &s.Location, &s.Base, &s.Semaphore); err != nil {
				t.Fatalf("readelf %s: %q: %v", path, line, err)
			}
		case "Arguments":
			out[len(out)-1].Args = value
		}
	}
	return out
}
