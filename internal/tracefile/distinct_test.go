package tracefile_test

import (
	"os"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/internal/tracefile"
)

func TestDistinct(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(name, []byte("equal"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", "link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Link("b", "second"); err != nil {
		t.Fatal(err)
	}
	paths := []string{"link", "./a", "gone", "second", "a", "gone", "b", "missing"}
	if got, want := tracefile.Distinct(paths), []string{"link", "gone", "second", "missing"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
