package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFailed(t *testing.T) {
	for line, want := range map[string]string{
		"\x16--- FAIL: TestX (0.30s)\n":              "TestX",
		"words without an end\x16--- FAIL: ExampleX": "ExampleX",
		"\x16--- FAIL: TestX/sub (0.30s)\n":          "",
		"\x16--- PASS: TestX (0.30s)\n":              "",
		"\x16--- FAIL: BenchmarkX\n":                 "",
		"--- FAIL: TestX (0.30s)\n":                  "",
		"\x16FAIL\n":                                 "",
		"":                                           "",
	} {
		if got := Failed(line); got != want {
			t.Errorf("%q: failed %q, want %q", line, got, want)
		}
	}
}

// TestAlone checks that a test runs with exactly the subtests that its suite chooses.
func TestAlone(t *testing.T) {
	commands := "-test.run=^Test(Held|Command)|^TestScripts$/^(held|a[/|]b)$|^TestPlain$"
	for _, tt := range []struct {
		args []string
		test string
		want string
	}{
		{nil, "TestX", "-test.run=^TestX$"},
		{[]string{"-test.run=^(Test|Example)", "-test.skip=^TestY$"}, "ExampleX", "-test.run=^ExampleX$"},
		{[]string{"-test.run=^(Test|Example)", commands}, "TestScripts", "-test.run=^TestScripts$/^(held|a[/|]b)$"},
		{[]string{commands}, "TestHeldLong", "-test.run=^TestHeldLong$"},
		{[]string{commands}, "TestPlain", "-test.run=^TestPlain$"},
		{[]string{`-test.run=^A\|B$/x|^Test.*$/^(one)$/two`}, "TestX", "-test.run=^TestX$/^(one)$/two"},
	} {
		if d := cmp.Diff(append(tt.args, tt.want), (Suite{Args: tt.args}).Alone(tt.test)); d != "" {
			t.Errorf("%q of %q (-want +got):\n%s", tt.test, tt.args, d)
		}
	}
}
