package unprivileged

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
