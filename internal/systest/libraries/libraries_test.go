//go:build amd64

package libraries

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

var parca = flag.String("parca", "", "the `directory` of the source of github.com/parca-dev/usdt")

// library is one by which the tool was made.
type library struct {
	name    string
	sources []string // what the tool's author writes
	build   func(t testing.TB) (command []string)
}

var libraries = []library{
	{"libbpf", []string{"turnover.bpf.c", "turnover.c"}, func(t testing.TB) []string {
		needs.Tools(t, "bpftool")
		dir := t.TempDir()
		skeleton := needs.Run(t, "bpftool", "gen", "skeleton", needs.CompileBPF(t, "testdata/turnover.bpf.c"), "name", "turnover")
		if err := os.WriteFile(filepath.Join(dir, "turnover.skel.h"), []byte(skeleton), 0o644); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(dir, "turnover")
		needs.Run(t, "gcc", "-O2", "-I", dir, "-o", program, "testdata/turnover.c", "-lbpf")
		return []string{program}
	}},
	{"cilium/ebpf alone", []string{"alone.bpf.c", "alone/main.go"}, func(t testing.TB) []string {
		return []string{needs.Build(t, "internal/systest/libraries/testdata/alone"), needs.CompileBPF(t, "testdata/alone.bpf.c")}
	}},
	{"this module, with C", []string{"turnover.bpf.c", "with/main.go"}, func(t testing.TB) []string {
		return []string{needs.Build(t, "internal/systest/libraries/testdata/with"), needs.CompileBPF(t, "testdata/turnover.bpf.c")}
	}},
	{"this module, without C", []string{"without/main.go"}, func(t testing.TB) []string {
		return []string{needs.Build(t, "internal/systest/libraries/testdata/without")}
	}},
	{"parca-dev/usdt", []string{"parca.bpf.c", "parca/main.go"}, func(t testing.TB) []string {
		dir := t.TempDir()
		main, err := os.ReadFile("testdata/parca/main.go")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "main.go"), main, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"mod", "init", "turnover"}, {"mod", "edit", "-require=github.com/parca-dev/usdt@v0.0.0", "-replace=github.com/parca-dev/usdt=" + *parca},
			{"mod", "tidy"}, {"build", "-o", "turnover", "."},
		} {
			cmd := exec.Command("go", args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", cmd, err, out)
			}
		}
		return []string{filepath.Join(dir, "turnover"), needs.CompileBPF(t, "testdata/parca.bpf.c", "-I"+filepath.Join(*parca, "ebpf"))}
	}},
}

// runnable are all libraries, without parca-dev/usdt if its source is not there.
func runnable() []library {
	if *parca == "" {
		return libraries[:len(libraries)-1]
	}
	return libraries
}

// lines counts what a tool's author writes, without comments and empty lines.
func (l *library) lines(t testing.TB) (n int) {
	for _, name := range l.sources {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				n++
			}
		}
	}
	return n
}

// result is what a run of a tool took.
type result struct{ attach, program, event time.Duration }

// run has a tool add up what a process sells.
func run(t testing.TB, command []string, orders int) (r result) {
	t.Helper()
	path := needs.Compile(t, "testdata/shop.c", "gcc", "-O2")
	shop := tracee.Start(t, exec.Command(path))
	args := append([]string{fmt.Sprint(shop.PID()), path}, command[1:]...)
	begin := time.Now()
	tool := tracee.Start(t, exec.Command(command[0], args...))
	if line := tool.Line(); line != "ready" {
		t.Fatalf("the tool says %q", line)
	}
	r.attach = time.Since(begin)
	var taken int64
	if _, err := fmt.Sscan(shop.Do("%d", orders), &taken); err != nil {
		t.Fatal(err)
	}
	r.event = time.Duration(taken) / time.Duration(orders)
	r.program = perRun(t, tool.PID(), orders)
	if want := fmt.Sprint(-25 * orders / 3 * 2); orders%3 != 0 || tool.Do("") != want {
		t.Errorf("the sum is not %s", want)
	}
	return r
}

// perRun returns how long a process's program ran for each of n events.
func perRun(t testing.TB, pid, n int) time.Duration {
	t.Helper()
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range infos {
		info, _ := os.ReadFile(name)
		numbers := map[string]int{}
		for line := range strings.Lines(string(info)) {
			var name string
			var n int
			if fields, _ := fmt.Sscan(line, &name, &n); fields == 2 {
				numbers[name] = n
			}
		}
		if numbers["run_cnt:"] == n {
			return time.Duration(numbers["run_time_ns:"] / n)
		}
	}
	t.Error("no program has run once for each event")
	return 0
}

func countRuns(t testing.TB) {
	needs.Root(t)
	counting, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { counting.Close() })
}

// TestLibraries checks that all find the same sum.
func TestLibraries(t *testing.T) {
	countRuns(t)
	for _, l := range runnable() {
		t.Run(l.name, func(t *testing.T) { run(t, l.build(t), 300) })
	}
}

// TestLines checks the row of the table that has the tools' lines.
func TestLines(t *testing.T) {
	lines := map[string]any{}
	for _, l := range libraries {
		lines[l.name] = l.lines(t)
	}
	want := fmt.Sprintf("| the same tool: lines | %v | %v, x86-64 only | %v | %v, in C and Go %v |\n",
		lines["libbpf"], lines["cilium/ebpf alone"], lines["parca-dev/usdt"], lines["this module, without C"], lines["this module, with C"])
	document, err := os.ReadFile("../../../docs/tool-authors.md")
	if err != nil || !strings.Contains(string(document), want) {
		t.Errorf("docs/tool-authors.md (%v) lacks\n%s", err, want)
	}
}

// BenchmarkLibraries runs the tools by turns, and reports the least that each has taken.
func BenchmarkLibraries(b *testing.B) {
	const turns, orders = 7, 300000
	countRuns(b)
	commands, least := map[string][]string{}, map[string]result{}
	for range turns {
		for _, l := range runnable() {
			if commands[l.name] == nil {
				commands[l.name] = l.build(b)
			}
			r := run(b, commands[l.name], orders)
			if old, ok := least[l.name]; ok {
				r = result{min(r.attach, old.attach), min(r.program, old.program), min(r.event, old.event)}
			}
			least[l.name] = r
		}
	}
	for _, l := range runnable() {
		r := least[l.name]
		fmt.Printf("%-24s %4d lines, attached after %v, program %v, event %v\n", l.name, l.lines(b), r.attach.Round(time.Millisecond), r.program, r.event)
	}
}
