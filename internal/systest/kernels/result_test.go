package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

// output is what a test binary prints with -test.v=test2json; ^ stands for the
// byte that marks its lines.
const output = `talk before the first
^=== RUN   TestPass
^--- PASS: TestPass (1.30s)
^=== RUN   TestSub
^=== RUN   TestSub/good
^=== RUN   TestSub/bad
    a_test.go:7: got 1, want 2
^=== NAME  TestSub
^--- FAIL: TestSub (0.00s)
    ^--- PASS: TestSub/good (0.00s)
    ^--- FAIL: TestSub/bad (0.00s)
^=== RUN   TestParent
^=== RUN   TestParent/only
^--- PASS: TestParent (12.00s)
    ^--- PASS: TestParent/only (12.00s)
^=== RUN   TestSkip
    a_test.go:9: a message before
    a_test.go:10: needs bpftrace
^--- SKIP: TestSkip (0.00s)
^=== RUN   TestHangs
panic: test timed out after 8m0s
`

func TestReadSuite(t *testing.T) {
	s, err := readSuite("attach", strings.ReplaceAll(output, "^", "\x16"), 2)
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]string
	for _, test := range s.tests {
		got = append(got, [2]string{test.name, test.action})
	}
	want := [][2]string{
		{"TestPass", "pass"},
		{"TestSub", "fail"}, {"TestSub/good", "pass"}, {"TestSub/bad", "fail"},
		{"TestParent/only", "pass"},
		{"TestSkip", "skip"},
		{"TestHangs", "fail"}, // no line says that it passed
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tests (-want +got):\n%s", d)
	}
	if got, want := s.summary(), "3 passed, 3 failed, 1 skipped, exit code 2"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
	if got, want := s.slowest(2), "TestParent/only (12 s) TestPass (1 s)"; got != want {
		t.Errorf("slowest %q, want %q", got, want)
	}
	for _, test := range s.tests {
		switch test.name {
		case "TestSkip":
			if got := test.reason(); got != "needs bpftrace" {
				t.Errorf("reason %q, want the last message", got)
			}
		case "TestSub/bad":
			if !strings.Contains(test.output, "got 1, want 2") {
				t.Errorf("output of TestSub/bad is %q", test.output)
			}
		}
	}
	if !strings.Contains(s.talk, "talk before") {
		t.Errorf("talk is %q", s.talk)
	}
}

func TestReason(t *testing.T) {
	for _, tt := range []struct{ output, want string }{
		{"", ""},
		{"=== RUN   TestX\n--- SKIP: TestX (0.00s)\n", ""},
		{"    a_test.go:1: why\n--- SKIP: TestX (0.00s)\n", "why"},
		{"    example_test.go:10: needs a: b: c\n", "needs a: b: c"},
		{"        testscript.go:584: WORK=$WORK\n        \n        > [!exec:gcc] skip 'needs gcc'\n", "needs gcc"},
	} {
		if got := (test{output: tt.output}).reason(); got != tt.want {
			t.Errorf("%q: reason %q, want %q", tt.output, got, tt.want)
		}
	}
}

func TestExplain(t *testing.T) {
	for reason, want := range map[string]string{
		`needs gcc: exec: "gcc": executable file not found in $PATH`: "needs a tool that the machine does not have",
		"needs bpftrace":                             "needs a tool that the machine does not have",
		"needs openjdk-17-dbg":                       "needs a tool that the machine does not have",
		"without uprobe_multi: not supported":        "perf events are slow to close, and need CAP_SYS_ADMIN",
		"this kernel does not optimise nop5":         "the kernel does not optimise nop5",
		"short: would trap ten thousand times":       "would take too long in an emulated machine",
		"this kernel has no vm.memfd_noexec: stat x": "the kernel has no vm.memfd_noexec",
		"":                               "",
		"it needs bpftrace":              "",
		"needs more time, says somebody": "",
		"in short: flaky":                "",
	} {
		got := ""
		if rule := explain(test{output: "    a_test.go:1: " + reason + "\n"}); rule != nil {
			got = rule.why
		}
		if got != want {
			t.Errorf("%q is explained by %q, want %q", reason, got, want)
		}
	}
}

// TestTools checks that a rule explains each tool that some test of the repository asks for.
func TestTools(t *testing.T) {
	calls := regexp.MustCompile(`needs\.Tools\(t((?:, *"[^"]+")+)`)
	tools := 0
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, call := range calls.FindAllSubmatch(source, -1) {
			for name := range strings.SplitSeq(strings.Trim(string(call[1]), `", `), `", "`) {
				tools++
				if explain(test{output: "    a_test.go:1: needs " + name + "\n"}) == nil {
					t.Errorf("%s: no rule explains that a machine has no %s", path, name)
				}
			}
		}
		return err
	})
	if err != nil || tools < 20 {
		t.Fatalf("found %d tools in the repository's tests, error %v", tools, err)
	}
}

// TestPrint checks what makes a run fail: tests, exit codes, skips without a
// rule.
func TestPrint(t *testing.T) {
	ran := func(exit int, tests ...test) result {
		return result{suites: []suiteResult{{name: "notes", exit: exit, tests: tests, talk: "panic: all is lost\n"}}}
	}
	skip := func(why string) test {
		return test{name: "TestX", action: "skip", output: "    a_test.go:1: " + why + "\n"}
	}
	for name, tt := range map[string]struct {
		result result
		ok     bool
		want   string
	}{
		"passed":    {ran(0, test{name: "TestX", action: "pass"}), true, "passed TestX"},
		"failed":    {ran(1, test{name: "TestX", action: "fail", output: "got 1"}), false, "FAILED TestX\ngot 1"},
		"crashed":   {ran(2, test{name: "TestX", action: "pass"}), false, "all is lost"},
		"explained": {ran(0, skip("short: slow")), true, "skipped TestX: short: slow"},
		"skipped":   {ran(0, skip("it is Tuesday")), false, "no rule explains this"},
	} {
		var b strings.Builder
		if ok := tt.result.print(&b); ok != tt.ok || !strings.Contains(b.String(), tt.want) {
			t.Errorf("%s: ok is %v, want %v, and %q in\n%s", name, ok, tt.ok, tt.want, b.String())
		}
	}
}

// TestFew checks that a machine that runs a few tests runs those of its part, and all that a run chooses by
// their names.
func TestFew(t *testing.T) {
	few := kernel{part: map[string]string{"attach": "-test.run=^TestX$"}, few: true}
	for name, tt := range map[string]struct {
		kernel kernel
		want   int
	}{"few": {few, 1}, "by name": {whole([]kernel{few})[0], len(suites)}, "most": {kernel{part: few.part}, len(suites)}} {
		if got := tt.kernel.suites(); len(got) != tt.want {
			t.Errorf("%s: %d suites, want %d", name, len(got), tt.want)
		}
	}
	if got := few.suites()[0]; got.Package != "attach" || got.Yama != "" || got.Args[len(got.Args)-1] != "-test.run=^TestX$" {
		t.Errorf("the suite is %+v", got)
	}
}

// TestTable checks that the document counts and explains results, and that it
// stays valid when a kernel gets a new build or a package more tests.
func TestTable(t *testing.T) {
	all := suites
	defer func() { suites = all }()
	suites = []report.Suite{{Package: "notes"}, underYama("3")}
	tested, outcome := kernel{version: "6.1", release: "bookworm", arch: "amd64"}, "pass"
	with := func(release, site string, passed int) []result {
		r := result{kernel: tested, seen: report.Kernel{Release: release, Machine: "x86_64", Mechanism: "perf events", Site: site}}
		s := suiteResult{name: "notes", tests: []test{{name: "TestS", action: "skip", output: "    a_test.go:1: short: slow\n"}}}
		for range passed {
			s.tests = append(s.tests, test{name: "TestP", action: "pass"})
		}
		r.suites = []suiteResult{s, {name: "yama=3", tests: []test{{name: "TestY", action: outcome}}}}
		few := result{kernel: kernel{version: "6.12", release: "trixie", arch: "arm64", few: true}, seen: report.Kernel{Release: "6.12.5", Machine: "aarch64"}}
		return []result{r, few}
	}
	text := table(with("6.1.0-50-cloud-amd64", "nop", 2))
	for _, want := range []string{
		"| 6.1-amd64 | 6.1.0-50-cloud-amd64 | x86_64 | perf events | nop | no |",
		"| 6.12-arm64 | 6.12.5 | aarch64 |",
		"\n| package | 6.1-amd64 | 6.12-arm64 |\n|---|---|---|\n| notes | 2 passed, 1 skipped | |\n",
		"\n6.12-arm64 runs the tests of functions of the kernel and of tracepoints, and no others.\n",
		"\n| kernel.yama.ptrace_scope | 6.1-amd64 |\n|---|---|\n| 3 | passed |\n",
		"- would take too long in an emulated machine: notes `TestS`\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	for name, tt := range map[string]struct {
		results []result
		same    bool
	}{
		"another build": {with("6.1.0-51-cloud-amd64", "nop", 2), true},
		"more tests":    {with("6.1.0-50-cloud-amd64", "nop", 12), true},
		"another site":  {with("6.1.0-50-cloud-amd64", "nop5", 2), false},
		"another minor": {with("6.2.0-50-cloud-amd64", "nop", 2), false},
	} {
		if got := plain(text) == plain(table(tt.results)); got != tt.same {
			t.Errorf("%s: the same is %v, want %v", name, got, tt.same)
		}
	}
	for _, outcome = range []string{"fail", "skip"} {
		if plain(text) == plain(table(with("6.1.0-50-cloud-amd64", "nop", 2))) {
			t.Errorf("the table does not tell %s under Yama", outcome)
		}
	}
	outcome = "pass"
	tested.version = newest
	if plain(table(with("7.3.4+deb13-cloud-amd64", "nop10", 2))) != plain(table(with("7.5.1+deb13-cloud-amd64", "nop10", 2))) {
		t.Error("the newest kernel: another minor is told")
	}
	if plain(table(with("7.3.4+deb13-cloud-amd64", "nop10", 2))) == plain(table(with("7.5.1+deb13-cloud-amd64", "nop", 2))) {
		t.Error("the newest kernel: another site is not told")
	}
}
