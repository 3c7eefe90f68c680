package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

// TestSettle checks which tests that failed become unsteady, and whether the run then fails.
func TestSettle(t *testing.T) {
	good := suiteResult{tests: []test{{name: "TestX", action: "pass"}}}
	bad := suiteResult{exit: 1, tests: []test{{name: "TestX", action: "fail"}}}
	failed := func(exit int, names ...string) suiteResult {
		s := suiteResult{name: "notes", exit: exit, tests: []test{{name: "TestGood", action: "pass"}}}
		for _, name := range names {
			s.tests = append(s.tests, test{name: name, action: "fail", output: "got 1 in " + name})
		}
		return s
	}
	again := func(name string, results ...suiteResult) []attempt {
		var all []attempt
		for _, r := range results {
			all = append(all, attempt{"notes", name, r})
		}
		return all
	}
	four := slices.Concat(again("TestA", good, good, good), again("TestB", good, good, good), again("TestC", good, good, good), again("TestD", good, good, good))
	for name, tt := range map[string]struct {
		result   result
		unsteady []string
		ok       bool
		want     string
	}{
		"passes again": {
			result{suites: []suiteResult{failed(1, "TestX")}, again: again("TestX", good, good, good)},
			[]string{"notes TestX"}, true, "UNSTEADY TestX is unsteady: failed once, then passed 3 times; the first time:\ngot 1 in TestX\n",
		},
		"in a subtest": {
			result{suites: []suiteResult{failed(1, "TestX", "TestX/sub")}, again: again("TestX", good, good, good)},
			[]string{"notes TestX"}, true, "got 1 in TestX/sub\n",
		},
		"fails again": {
			result{suites: []suiteResult{failed(1, "TestX")}, again: again("TestX", good, good, bad)},
			nil, false, "FAILED TestX\n",
		},
		"is skipped": {
			result{suites: []suiteResult{failed(1, "TestX")}, again: again("TestX", good, good, suiteResult{tests: []test{{name: "TestX", action: "skip"}}})},
			nil, false, "FAILED TestX\n",
		},
		"leaves something behind": {
			result{suites: []suiteResult{failed(1, "TestX")}, again: again("TestX", good, good, suiteResult{exit: 1, tests: good.tests})},
			nil, false, "FAILED TestX\n",
		},
		"machine ends meanwhile": {
			result{suites: []suiteResult{failed(1, "TestX")}, again: again("TestX", good, good)},
			nil, false, "FAILED TestX\n",
		},
		"another also fails": {
			result{suites: []suiteResult{failed(1, "TestX", "TestY")}, again: append(again("TestX", good, good, good), again("TestY", bad)...)},
			[]string{"notes TestX"}, false, "FAILED TestY\n",
		},
		"in another suite": {
			result{suites: []suiteResult{failed(1, "TestX")}, again: []attempt{{"attach", "TestX", good}, {"attach", "TestX", good}, {"attach", "TestX", good}}},
			nil, false, "FAILED TestX\n",
		},
		"a panic": { // other tests have not run
			result{suites: []suiteResult{failed(2, "TestX")}, again: again("TestX", good, good, good)},
			nil, false, "FAILED TestX\n",
		},
		"no test failed": {
			result{suites: []suiteResult{failed(1)}},
			nil, false, "exit code 1",
		},
		"three": {
			result{suites: []suiteResult{failed(1, "TestA", "TestB", "TestC")}, again: four},
			[]string{"notes TestA", "notes TestB", "notes TestC"}, true, "UNSTEADY TestC",
		},
		"four": {
			result{suites: []suiteResult{failed(1, "TestA", "TestB", "TestC", "TestD")}, again: four},
			[]string{"notes TestA", "notes TestB", "notes TestC", "notes TestD"}, false, "4 tests are unsteady, at most 3 may be\n",
		},
	} {
		tt.result.settle()
		if got := tt.result.unsteady(); !slices.Equal(got, tt.unsteady) {
			t.Errorf("%s: unsteady are %q, want %q", name, got, tt.unsteady)
		}
		var b strings.Builder
		if ok := tt.result.print(&b); ok != tt.ok || !strings.Contains(b.String(), tt.want) {
			t.Errorf("%s: ok is %v, want %v, and %q in\n%s", name, ok, tt.ok, tt.want, b.String())
		}
		b.Reset()
		printUnsteady(&b, []result{tt.result})
		if got := strings.Count(b.String(), "failed once, then passed 3 times\n"); got != len(tt.unsteady) {
			t.Errorf("%s: the list has %d lines, want %d:\n%s", name, got, len(tt.unsteady), b.String())
		}
	}
	if report.Attempts != 3 || report.MaxUnsteady != 3 {
		t.Errorf("%d attempts and %d tests, want the numbers in doc.go", report.Attempts, report.MaxUnsteady)
	}
}

// TestBenchmarks checks that benchmarks, which say no more than what they measure, do not
// count as tests that failed.
func TestBenchmarks(t *testing.T) {
	output := strings.ReplaceAll(`goos: linux
^=== RUN   BenchmarkA
BenchmarkA
BenchmarkA-2     	       1	       301.0 ns/op
^=== NAME  
^=== RUN   BenchmarkSub
BenchmarkSub
^=== RUN   BenchmarkSub/s
BenchmarkSub/s
BenchmarkSub/s-2 	       1	       140.0 ns/op
`, "^", "\x16")
	for _, tt := range []struct {
		exit     int
		output   string
		measured int
		failed   int // with the parent, which only another exit code says to have failed
		want     string
	}{
		{0, output + "PASS\n", 2, 0, "   BenchmarkSub/s-2 \t       1\t       140.0 ns/op\n"},
		{1, output + "\x16=== RUN   BenchmarkF\nBenchmarkF\n    b_test.go:5: no\n\x16--- FAIL: BenchmarkF\n\x16FAIL\n", 2, 2, "FAILED BenchmarkF\n"},
		{2, output + "\x16=== RUN   BenchmarkF\nBenchmarkF\npanic: no\n", 2, 2, "panic: no\n"},
	} {
		s, err := readSuite("attach", tt.output, tt.exit)
		if err != nil {
			t.Fatal(err)
		}
		if measured, failed := s.count("bench"), s.count("fail"); measured != tt.measured || failed != tt.failed {
			t.Errorf("exit code %d: %d measured, %d failed, want %d and %d: %+v", tt.exit, measured, failed, tt.measured, tt.failed, s.tests)
		}
		var b strings.Builder
		if ok := (result{suites: []suiteResult{s}}).print(&b); ok != (tt.exit == 0) || !strings.Contains(b.String(), tt.want) {
			t.Errorf("exit code %d: ok is %v, want %q in\n%s", tt.exit, ok, tt.want, b.String())
		}
	}
}
