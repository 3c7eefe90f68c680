package interop_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

var producerColumns = []string{"read", "traced", "semaphore"}

// producers are the rows of the table of producers: the same in all releases.
func producers(r release) []row {
	return slices.Concat(compiled(), debian(r))
}

// compiled returns the rows of programs made from testdata/shapes.c.
func compiled() []row {
	var rows []row
	for _, p := range []struct {
		name       string
		semaphores bool
		compiler   []string
	}{
		{"`sys/sdt.h`, gcc", false, []string{"gcc", "-O2"}},
		{"`sys/sdt.h`, gcc without optimisation", false, []string{"gcc", "-O0"}},
		{"`sys/sdt.h`, clang", false, []string{"clang", "-O2"}},
		{"`sys/sdt.h`, g++", false, []string{"g++", "-O2", "-x", "c++"}},
		{"`DTRACE_PROBE`, semaphores, gcc", true, []string{"gcc", "-O2", "-DSEMAPHORES"}},
		{"`DTRACE_PROBE`, semaphores, g++", true, []string{"g++", "-O2", "-DSEMAPHORES", "-x", "c++"}},
		{"`dtrace -h`, `dtrace -G`, gcc", true, []string{"gcc", "-O2", "-DDTRACE"}},
	} {
		checks := map[string]func(*testing.T){
			"read":   func(t *testing.T) { checkRead(t, compile(t, p.compiler), len(shapes)) },
			"traced": func(t *testing.T) { checkCompiled(t, compile(t, p.compiler)) },
		}
		if p.semaphores {
			checks["semaphore"] = func(t *testing.T) { checkSemaphores(t, compile(t, p.compiler)) }
		}
		rows = append(rows, row{name: p.name, packages: []string{"systemtap-sdt-dev", p.compiler[0]}, needs: []string{p.compiler[0], "dtrace", "readelf"}, checks: checks})
	}
	absent := limit{mark: none, why: "no package of Debian ships this header"}
	return append(rows, row{
		name:   "libbpf's `usdt.h`",
		limits: map[string]limit{"read": absent, "traced": absent, "semaphore": absent},
		checks: map[string]func(*testing.T){"read": func(t *testing.T) {
			for _, dir := range []string{"/usr/include", "/usr/include/bpf", "/usr/include/libbpf"} {
				if _, err := os.Stat(filepath.Join(dir, "usdt.h")); err == nil {
					t.Errorf("%s has usdt.h now: test its probes here", dir)
				}
			}
		}},
	})
}

// compile compiles testdata/shapes.c and returns the program's path.
func compile(t *testing.T, command []string) string {
	t.Helper()
	dir := t.TempDir()
	exe, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	source, provider := filepath.Join(exe, "shapes.c"), filepath.Join(exe, "shapes.d")
	commands := [][]string{append(command, source, "-o", "shapes")}
	if slices.Contains(command, "-DDTRACE") {
		commands = [][]string{
			{"dtrace", "-h", "-s", provider, "-o", "shapes.h"},
			{"dtrace", "-G", "-s", provider, "-o", "probes.o"},
			append(command, "-I.", source, "probes.o", "-o", "shapes"),
		}
	}
	for _, c := range commands {
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", c, err, out)
		}
	}
	return filepath.Join(dir, "shapes")
}

// theirNote matches what readelf -n prints of a probe.
var theirNote = regexp.MustCompile(`Provider: (.*)\n\s+Name: (.*)\n\s+Location: 0x0*([0-9a-f]+), Base: 0x0*([0-9a-f]+), Semaphore: 0x0*([0-9a-f]+)\n\s+Arguments:[ \t]*(.*)`)

// checkRead compares what reader and readelf find, and checks that every argument
// is understood.
func checkRead(t *testing.T, path string, sites int) {
	t.Helper()
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var ours, theirs []string
	for p, err := range f.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.Arguments() {
			if a.Err != nil {
				t.Errorf("%s:%s: %v", p.Provider, p.Name, a.Err)
			}
		}
		ours = append(ours, fmt.Sprintf("%s %s %x %x %x %s", p.Provider, p.Name, p.Location, p.Base, p.Semaphore, p.Args))
	}
	out := run(t, "readelf", "-n", path)
	for _, m := range theirNote.FindAllStringSubmatch(out, -1) {
		theirs = append(theirs, strings.Join(m[1:], " "))
	}
	if d := cmp.Diff(theirs, ours); d != "" || len(ours) != sites || strings.Count(out, "Provider: ") != sites {
		t.Errorf("%s: %d sites, want %d (-readelf +reader):\n%s", path, len(ours), sites, d)
	}
}

func checkCompiled(t *testing.T, path string) {
	t.Helper()
	pid, _ := start(t, path)
	got := events(t, pid, "shapes", []string{"shapes:text:arg0", "shapes:record:arg2"})
	for _, s := range shapes {
		if got[s.name] != s.values {
			t.Errorf("%s: got %q, want %q", s.name, got[s.name], s.values)
		}
	}
}

// checkSemaphores attaches to a program whose probes with semaphores fire only
// while these are raised.
func checkSemaphores(t *testing.T, path string) {
	t.Helper()
	pid, _ := start(t, path)
	checkRaised(t, pid, "shapes:*")
}

// checkRaised checks that the semaphores of the probes that a selector names in a
// process are raised while this process is attached, and only then.
func checkRaised(t *testing.T, pid int, selector string) {
	t.Helper()
	s, err := attach.Open(t.Context(), []string{selector}, &attach.Options{Target: attach.Target{PIDs: []int{pid}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var names []string
	for _, site := range s.Plan() {
		names = append(names, site.Probe.Name)
		if p := probe(t, pid, site.Probe.Provider, site.Probe.Name); semaphore(t, p) == 0 {
			t.Errorf("%s: the semaphore is 0 while we are attached", p.Name)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, site := range s.Plan() {
		p := probe(t, pid, site.Probe.Provider, site.Probe.Name)
		eventually(t, "nobody watches "+p.Name, func() bool { return semaphore(t, p) == 0 })
	}
	if len(names) == 0 {
		t.Error("no site")
	}
}

// debianFile returns the path of a file: the installed one or, for Debian 12, a
// stored part of it with all that readers of notes use.
func debianFile(t *testing.T, name string) string {
	t.Helper()
	z, err := zip.OpenReader("../../sdtdump/testdata/debian/amd64.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat("/" + name); err != nil {
			needs.Skip(t, "needs a file: %v", err)
		}
		return "/" + name
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
