package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpToDate fails when a command has changed and its page has not.
func TestUpToDate(t *testing.T) {
	for name, cmd := range commands() {
		want, err := page(cmd)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("../../man", name))
		if err != nil {
			t.Errorf("%v; run make generate", err)
			continue
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("man/%s is out of date, run make generate (-want +got):\n%s", name, diff)
		}
	}
}
