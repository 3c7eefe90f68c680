package supply_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestPrototypesLeftOut checks that a program that traces, and does not ask for names of
// arguments that are known, does not contain them.
func TestPrototypesLeftOut(t *testing.T) {
	for _, c := range []struct {
		options  string
		contains bool
	}{
		{"attach.Options{}", false},
		{"attach.Options{Prototypes: prototype.Known()}", true},
	} {
		dir, err := os.MkdirTemp("testdata", "prototypes")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		source := `package main

import (
	"context"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/prototype"
)

var _ *prototype.Table

func main() { attach.Open(context.Background(), []string{"x:y"}, &` + c.options + `) }
`
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "program")
		needs.Run(t, "go", "build", "-o", out, "./"+dir)
		program, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(program, []byte("postgresql:query__start(char *query)")); got != c.contains {
			t.Errorf("%s: the program contains the known prototypes: %v, want %v", c.options, got, c.contains)
		}
	}
}
