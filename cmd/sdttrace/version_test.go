package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersions checks that files of each version of the format are read as they were when it was
// current: testdata/versionN/said.txt has commands, and what each says.
func TestVersions(t *testing.T) {
	dirs, err := filepath.Glob("testdata/version*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("there are no files of any version, %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			said, err := os.ReadFile(filepath.Join(dir, "said.txt"))
			if err != nil {
				t.Fatal(err)
			}
			commands := strings.Split(string(said), "$ ")[1:]
			if len(commands) == 0 {
				t.Error("there are no commands")
			}
			for _, command := range commands {
				line, want, _ := strings.Cut(command, "\n")
				cmd := exec.Command(self)
				cmd.Args, cmd.Dir = strings.Fields(line), dir
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				got, err := cmd.Output()
				if d := cmp.Diff(want, string(got)); d != "" || err != nil {
					t.Errorf("%s: %v, %s(-want +got):\n%s", line, err, &stderr, d)
				}
			}
		})
	}
}
