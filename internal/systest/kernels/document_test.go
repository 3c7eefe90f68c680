package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompare compares documents that differ from what was seen, by what is skipped and by
// what is not.
func TestCompare(t *testing.T) {
	const said = `| notes | 4 passed, 1 skipped |

## Skipped

- the kernel is old (6.1-arm64, 6.1-amd64): notes ` + "`TestNew`; attach `TestA/b`, `TestC`" + `
- would take too long in an emulated machine: notes ` + "`TestLong`" + `
`
	t.Chdir(t.TempDir())
	if err := os.WriteFile(filepath.Base(document), []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, seen string
		ok         bool
		want       string // of the error
	}{
		{"the same", said, true, ""},
		{"another number", strings.Replace(said, "4 passed", "5 passed", 1), true, ""},
		{"none is skipped of a package", strings.Replace(said, ", 1 skipped", "", 1), false, ""},
		{"a test runs after all", strings.Replace(said, ", `TestC`", "", 1), false, ""},
		{"another reason", strings.Replace(said, "is old", "is aged", 1), false, ""},
		{"one more", strings.Replace(said, "`TestC`", "`TestC`, `TestD`", 1), false, "6.1-amd64 attach TestD, 6.1-arm64 attach TestD: "},
		{"on one more kernel", strings.Replace(said, " (6.1-arm64, 6.1-amd64)", " (6.1-arm64, newest-amd64, 6.1-amd64)", 1), false, "newest-amd64 attach TestA/b, newest-amd64 attach TestC, newest-amd64 notes TestNew: "},
		{"on all", strings.Replace(said, " (6.1-arm64, 6.1-amd64)", "", 1), false, "6.12-amd64 notes TestNew"},
	} {
		ok, err := compare(test.seen)
		if ok != test.ok || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, error %v; want %v, error %q", test.name, ok, err, test.ok, test.want)
		}
	}
}
