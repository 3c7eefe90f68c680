package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

// result is the result of one kernel.
type result struct {
	kernel kernel
	seen   report.Kernel
	suites []suiteResult
	again  []attempt // tests that failed and ran again
}

// suiteResult is how a test binary ended.
type suiteResult struct {
	name  string
	exit  int // -1 if it did not end by itself
	tests []test
	talk  string // output that belongs to no test
}

// suite returns the result of a suite, nil if the kernel's machine does not run it or did not come to it.
func (r result) suite(name string) *suiteResult {
	for i := range r.suites {
		if r.suites[i].name == name {
			return &r.suites[i]
		}
	}
	return nil
}

// test is a test without subtests, or one that failed.
type test struct {
	name   string
	action string // as cmd/test2json has them: pass, fail, skip; bench, or unsteady after settle
	output string
	took   float64 // seconds
}

// logged is the message of a line that t.Log and t.Skip print.
var logged = regexp.MustCompile(`(?s)^ *[\w.]+\.go:\d+: (.*)$`)

// measured is the line of a benchmark that has ended.
var measured = regexp.MustCompile(`(?m)^Benchmark\S+[ \t]+\d+\t.*$`)

// skipped is the line of a script that skips it, as testscript shows it.
var skipped = regexp.MustCompile(`(?m)^ +> .*\bskip '(.*)'$`)

// reason returns why a test was skipped.
func (t test) reason() string {
	if m := skipped.FindStringSubmatch(t.output); m != nil {
		return m[1]
	}
	for _, line := range slices.Backward(strings.SplitAfter(t.output, "\n")) {
		if m := logged.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			return m[1]
		}
	}
	return ""
}

// readSuite reads the output of a test binary that ran with -test.v=test2json.
func readSuite(name, output string, exit int) (suiteResult, error) {
	r := suiteResult{name: name, exit: exit}
	cmd := exec.Command("go", "tool", "test2json", "-t") // -t: with times
	cmd.Stdin = strings.NewReader(output)
	data, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("go tool test2json: %w", err)
	}
	var order []string
	tests := map[string]*test{}
	parents := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var ev struct {
			Action, Test, Output string
			Elapsed              float64
		}
		if err := d.Decode(&ev); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return r, fmt.Errorf("go tool test2json: %w", err)
		}
		if ev.Test == "" {
			r.talk += ev.Output
			continue
		}
		t := tests[ev.Test]
		if t == nil {
			// A test that reports only its start has failed. Benchmarks report nothing else.
			t = &test{name: ev.Test, action: "fail"}
			if strings.HasPrefix(ev.Test, "Benchmark") && exit == 0 {
				t.action = "bench"
			}
			tests[ev.Test] = t
			order = append(order, ev.Test)
			for i, c := range ev.Test {
				if c == '/' {
					parents[ev.Test[:i]] = true
				}
			}
		}
		switch ev.Action {
		case "pass", "fail", "skip":
			t.action, t.took = ev.Action, ev.Elapsed
		case "output":
			t.output += ev.Output
			if measured.MatchString(ev.Output) {
				t.action = "bench"
			}
		}
	}
	for _, name := range order {
		if t := tests[name]; !parents[name] || t.action == "fail" {
			r.tests = append(r.tests, *t)
		}
	}
	return r, nil
}
