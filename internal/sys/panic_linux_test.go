package sys

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPanicsOnWarning reads what the sysctl may say. What cannot be read is not
// trusted to be unset.
func TestPanicsOnWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "panic_on_warn")
	for value, want := range map[string]bool{"0\n": false, "0": false, "1\n": true, "": true} {
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := panicsOnWarning(file); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	if !panicsOnWarning(filepath.Join(t.TempDir(), "missing")) {
		t.Error("a file that is not there: got false, want true")
	}
}
