package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestUnknownGo prints stacks of a program whose table of functions is not as any known version
// of Go has it, and says so.
func TestUnknownGo(t *testing.T) {
	needs.Tools(t, "go", "objcopy")
	dir := commands(t, "sdttrace")
	prog, changed := filepath.Join(t.TempDir(), "prog"), filepath.Join(t.TempDir(), "changed")
	needs.Run(t, "go", "build", "-o", prog, "../../examples/hello")
	needs.Run(t, "objcopy", "--rename-section", ".gopclntab=.other", prog, changed)
	out, err := exec.Command(filepath.Join(dir, "sdttrace"), "--stack", "--limit", "1", "hello:tick", "--", changed).CombinedOutput()
	want := regexp.MustCompile(`(?m)^sdttrace: ` + changed + `: stacks lack functions, lines and callers that no other table has: the table of functions of go1\.[^ ]+ is not as the known versions of Go have it$`)
	if err != nil || !want.Match(out) {
		t.Errorf("got %v and %s, want %s", err, out, want)
	}
}
