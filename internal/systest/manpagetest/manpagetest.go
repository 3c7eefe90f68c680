// Package manpagetest compares manual pages with their commands.
package manpagetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/internal/manpage"
)

// UpToDate checks that the pages in dir match the command.
func UpToDate(t *testing.T, dir string, cmd *cobra.Command) {
	t.Helper()
	pages, err := manpage.Pages(cmd)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%v; run make generate", err)
			continue
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("man/%s is out of date, run make generate (-want +got):\n%s", name, diff)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, cmd.Name()+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if pages[filepath.Base(file)] == nil {
			t.Errorf("%s is of a command that is no more", file)
		}
	}
}
