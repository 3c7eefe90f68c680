package container_test

import (
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/container"
)

const (
	id  = "4f0c2e9b7a6d5c4b3a29181716151413121110090807060504030201abcdef01"
	uid = "0f3a5c7e-9b1d-4e2f-8a6b-1c2d3e4f5a6b"
)

// filled has the long words of testdata/paths.txt.
var filled = strings.NewReplacer(
	"U_", strings.ReplaceAll(uid, "-", "_"), "U", uid, "J", strings.Repeat("ab", 32), "H", strings.Repeat("0d", 16), "/I", "/"+id, "-I", "-"+id, ":I", ":"+id, " I", " "+id)

func TestParse(t *testing.T) {
	text, err := os.ReadFile("testdata/paths.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") || line == "\n" {
			continue
		}
		path, want, ok := strings.Cut(filled.Replace(strings.TrimSpace(line)), " | ")
		if !ok {
			t.Fatalf("line %q", line)
		}
		of := container.Parse(path)
		got := strings.Join([]string{orNone(of.Runtime), orNone(of.ID), orNone(of.Pod)}, " ")
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		tried++
	}
	if tried < 20 {
		t.Errorf("only %d paths were tried", tried)
	}
}

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
