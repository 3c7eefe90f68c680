package interop_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-usdt/usdt/reader"
)

// shape is a probe that testdata/shapes and testdata/shapes.c fire.
type shape struct {
	column string // of the table
	name   string // of the probe
	args   int    // in the note
	note   string // the arguments in the note of our object, on x86-64
	values string // the arguments, as a tool should show them
}

var shapes = []shape{
	{"0", "zero", 0, "", ""},
	{"3", "three", 3, "-4@%edi 8@%rsi -1@%dl", "-3 1099511627776 -7"},
	{"6", "six", 6, "-1@%dil 1@%sil -2@%dx 2@%cx -4@%r8d 8@%r9", "-8 200 -1600 60000 -320000 9223372036854775808"},
	{"8", "eight", 8, "-1@(%rax) 1@1(%rax) -2@2(%rax) 2@4(%rax) -4@8(%rax) 4@12(%rax) -8@16(%rax) 8@24(%rax)",
		"-1 201 -1601 60001 -320001 4000000001 -64000000001 9223372036854775809"},
	{"12", "twelve", 12, "-4@(%rax) -4@4(%rax) -4@8(%rax) -4@12(%rax) -4@16(%rax) -4@20(%rax) -4@24(%rax) -4@28(%rax) -4@32(%rax) -4@36(%rax) -4@40(%rax) -4@44(%rax)",
		"-1 2 -3 4 -5 6 -7 8 -9 10 -11 12"},
	{"string", "text", 2, "8@%rdi 1@%sil", "h\xc3\xa9llo 1"},
	{"record", "record", 5, "8@(%rax) -2@8(%rax) 8@16(%rax) 8@24(%rax) 2@32(%rax)", "7 -2 /index.html 11 8080"},
}

// The columns of what holds the object: a memory file, a file, a memory file
// that the dynamic linker loaded.
var backings = []string{"memfd", "file", "dlopen"}

// process runs testdata/shapes.
type process struct {
	pid      int
	provider string
	backing  string
	path     string // by which this host can open the object
	base     uint64 // where the object begins in memory
	probes   map[string]reader.Probe
}

var buildShapes = map[string]func() (string, error){
	"map":    sync.OnceValues(func() (string, error) { return goBuild("map", "CGO_ENABLED=0") }),
	"dlopen": sync.OnceValues(func() (string, error) { return goBuild("dlopen", "CGO_ENABLED=1", "-tags", "usdt_dlopen") }),
}

// goBuild builds testdata/shapes into the directory that TestMatrix made.
func goBuild(name, env string, flags ...string) (string, error) {
	exe := filepath.Join(shapesDir, name)
	cmd := exec.Command("go", append(append([]string{"build", "-o", exe}, flags...), "./testdata/shapes")...)
	cmd.Env = append(cmd.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build testdata/shapes: %v\n%s", err, out)
	}
	return exe, nil
}

var shapesDir string

// startShapes starts testdata/shapes with an object of its own.
func startShapes(t *testing.T, provider, backing string) *process {
	t.Helper()
	loader := "map"
	if backing == "dlopen" {
		loader = "dlopen"
	}
	exe, err := buildShapes[loader]()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{}
	if backing == "file" {
		env = []string{"USDT_BACKING=file", "USDT_DIR=" + filepath.Join(t.TempDir(), "objects")}
	}
	pid, _ := start(t, "env", append(env, exe, loader, provider)...)
	p := &process{pid: pid, provider: provider, backing: backing, probes: map[string]reader.Probe{}}
	live, err := reader.OpenProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	for probe, err := range live.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		if probe.Provider == provider {
			p.probes[probe.Name] = probe
			p.path = probe.Attachable()
			p.base = probe.Live.Address - probe.Location
		}
	}
	if len(p.probes) != len(shapes) {
		t.Fatalf("the process has %d probes, want %d", len(p.probes), len(shapes))
	}
	return p
}

// left fails the test unless the probes are soon as before anything was attached.
func (p *process) left(t *testing.T) {
	t.Helper()
	for name, probe := range p.probes {
		eventually(t, "nobody watches "+name, func() bool { return semaphore(t, probe) == 0 })
	}
}

// lines extracts "NAME arguments" from a tool's output, the first of each shape.
func lines(out string) map[string]string {
	got := map[string]string{}
	for line := range strings.Lines(out) {
		name, values, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, s := range shapes {
			if _, ok := got[name]; !ok && name == s.name {
				got[name] = values
			}
		}
	}
	return got
}

// matches extracts names and arguments from a tool's output by a regular
// expression with a group for each.
func matches(expr, out string) map[string]string {
	got := map[string]string{}
	for _, m := range regexp.MustCompile(expr).FindAllStringSubmatch(out, -1) {
		if _, ok := got[m[1]]; !ok {
			got[m[1]] = strings.TrimSpace(m[2])
		}
	}
	return got
}

// shapeNames returns a regular expression that matches the probes' names.
func shapeNames() string {
	var names []string
	for _, s := range shapes {
		names = append(names, s.name)
	}
	return strings.Join(names, "|")
}

// listed is what tools that only list names should show, shown what tools that
// show values should.
func listed(shape) string { return "" }

func shown(s shape) string { return s.values }

// addresses replaces the addresses of strings by ADDRESS.
func addresses(shown map[string]string) map[string]string {
	for name, at := range map[string]int{"text": 0, "record": 2} {
		if values := strings.Fields(shown[name]); len(values) > at {
			values[at] = "ADDRESS"
			shown[name] = strings.Join(values, " ")
		}
	}
	return shown
}
