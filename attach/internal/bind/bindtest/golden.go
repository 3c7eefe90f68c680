package bindtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// Golden compares what text makes of each case with a part of a file in testdata, which the
// case's name heads; with -update it writes the file.
func Golden(t *testing.T, file string, text func(*testing.T, *Case) string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	cases := Cases()
	got := make([]string, len(cases))
	for i := range cases {
		got[i] = strings.TrimSpace(text(t, &cases[i])) + "\n"
	}
	if *update {
		var all strings.Builder
		for i := range cases {
			all.WriteString("== " + cases[i].Name + "\n" + got[i] + "\n")
		}
		if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, part := range strings.Split("\n"+string(b), "\n== ") {
		name, text, _ := strings.Cut(part, "\n")
		want[name] = strings.TrimSpace(text) + "\n"
	}
	for i := range cases {
		t.Run(cases[i].Name, func(t *testing.T) {
			if d := cmp.Diff(want[cases[i].Name], got[i]); d != "" {
				t.Errorf("differs from %s, which -update writes anew (-want +got):\n%s", path, d)
			}
		})
		delete(want, cases[i].Name)
	}
	for name := range want {
		if name != "" {
			t.Errorf("%s has the case %q, which is none", path, name)
		}
	}
}
