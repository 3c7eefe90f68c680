package sys

import (
	"os"
	"path/filepath"
	"testing"
)

// TestIsSet checks the values that a sysctl may have. One that cannot be read counts
// as set.
func TestIsSet(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sysctl")
	for value, want := range map[string]bool{"0\n": false, "0": false, "1\n": true, "100\n": true, "": true} {
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, missing := isSet(file); got != want || missing {
			t.Errorf("%q: got %v, missing %v, want %v", value, got, missing, want)
		}
	}
	if set, missing := isSet(filepath.Join(dir, "missing")); set || !missing {
		t.Errorf("a file that is not there: got %v, missing %v", set, missing)
	}
	if set, missing := isSet(dir); !set || missing {
		t.Errorf("what cannot be read: got %v, missing %v", set, missing)
	}
}
