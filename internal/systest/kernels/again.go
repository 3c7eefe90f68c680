package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

// attempt is a run of a test that failed, by itself.
type attempt struct {
	suite, test string
	result      suiteResult
}

// passed says whether the test ran and passed.
func (a attempt) passed() bool {
	return a.result.exit == 0 && a.result.count("pass") > 0 && a.result.count("fail") == 0
}

// unsteady is what is said of a test that does not fail again.
var unsteady = fmt.Sprintf("is unsteady: failed once, then passed %d times", report.Attempts)

// settle makes failures of tests unsteady that passed each time that they ran again: an emulated
// processor may stand still for seconds, which is no difference between kernels. Such tests do
// not make a run fail, nor their suites if nothing else in them failed.
func (r *result) settle() {
	passed := map[[2]string]int{}
	for _, a := range r.again {
		if a.passed() {
			passed[[2]string{a.suite, a.test}]++
		}
	}
	for i := range r.suites {
		s := &r.suites[i]
		if s.exit != 1 { // not all of its tests have run
			continue
		}
		changed := false
		for j := range s.tests {
			t := &s.tests[j]
			top, _, _ := strings.Cut(t.name, "/")
			if t.action == "fail" && passed[[2]string{s.name, top}] == report.Attempts {
				t.action = "unsteady"
				changed = true
			}
		}
		if changed && s.count("fail") == 0 {
			s.exit = 0
		}
	}
}

// unsteady returns the tests that are unsteady, without subtests.
func (r result) unsteady() []string {
	var names []string
	for _, s := range r.suites {
		for _, t := range s.tests {
			if t.action == "unsteady" && !strings.Contains(t.name, "/") {
				names = append(names, s.name+" "+t.name)
			}
		}
	}
	return names
}

// printUnsteady lists the unsteady tests of all kernels.
func printUnsteady(w io.Writer, results []result) {
	for _, r := range results {
		for _, name := range r.unsteady() {
			fmt.Fprintf(w, "!! kernel %s: %s %s\n", r.kernel, name, unsteady)
		}
	}
}
