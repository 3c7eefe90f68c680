package attach_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tailLines is the number of last lines that failures returns.
const tailLines = 40

// failures shortens the output of a failed run with -test.v to the names and the
// output of the tests that failed or did not end, and the last lines. CI keeps
// only the beginning of long output.
func failures(output string) string {
	said := map[string][]string{}
	var order, failed, tail []string
	ended := map[string]bool{}
	var name string // whose output the next lines are
	for line := range strings.Lines(output) {
		line = strings.TrimSuffix(line, "\n")
		if tail = append(tail, line); len(tail) > tailLines {
			tail = tail[1:]
		}
		what, rest, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		of := strings.Fields(rest)
		switch {
		case what == "===" && len(of) > 1:
			if name = of[1]; said[name] == nil {
				order = append(order, name)
				said[name] = []string{}
			}
		case what == "---" && len(of) > 1:
			name = of[1]
			ended[name] = true
			if of[0] == "FAIL:" {
				failed = append(failed, name)
			}
		default:
			said[name] = append(said[name], line)
		}
	}
	for _, name := range order {
		if !ended[name] {
			failed = append(failed, name)
		}
	}
	var out []string
	out = append(out, "failed: "+strings.Join(failed, " "))
	for _, name := range slices.Compact(failed) {
		if len(said[name]) > 0 {
			out = append(out, name+":")
			out = append(out, said[name]...)
		}
	}
	out = append(out, "the end of the output:")
	return strings.Join(append(out, tail...), "\n")
}

// TestFailures checks that the names and the output of failed tests come first,
// also if one did not end.
func TestFailures(t *testing.T) {
	noise := strings.Repeat("=== RUN   TestGood\n    a_test.go:1: noise\n--- PASS: TestGood (0.00s)\n", 100)
	output := noise + `=== RUN   TestBad
    a_test.go:2: of the whole
=== RUN   TestBad/part
    a_test.go:3: got 1
        want 2
=== NAME  TestBad
    a_test.go:4: more of the whole
--- FAIL: TestBad (0.01s)
    --- FAIL: TestBad/part (0.00s)
` + noise + `=== RUN   TestHangs
panic: test timed out
`
	want := `failed: TestBad TestBad/part TestHangs
TestBad:
    a_test.go:2: of the whole
    a_test.go:4: more of the whole
TestBad/part:
    a_test.go:3: got 1
        want 2
TestHangs:
panic: test timed out
the end of the output:
`
	got := failures(output)
	if d := cmp.Diff(want, got[:min(len(want), len(got))]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := strings.Count(got, "\n"); n > strings.Count(want, "\n")+tailLines {
		t.Errorf("%d lines", n)
	}
}
