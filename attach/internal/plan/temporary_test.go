package plan

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestTemporary compares with the compiler's own listing of what the runtime starts again: there, all
// instructions except the last one build the value.
func TestTemporary(t *testing.T) {
	needs.Tools(t, "go")
	cmd := exec.Command("go", "build", "-gcflags=-S", "-o", os.DevNull, "math", "math/big", "strconv", "fmt", "encoding/json")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%.2000s", cmd, err, out)
	}
	type sequence struct{ start, end int }
	var sequences []sequence
	var code []byte
	found := 0
	check := func() {
		for _, s := range sequences {
			if s.end <= s.start || s.end > len(code) {
				continue
			}
			found++
			if got := behindTemporary(code[s.start:min(len(code), s.start+maxTemporary)]); got != s.end-s.start-4 {
				t.Errorf("%x: %d bytes", code[s.start:s.end], got)
			}
		}
		sequences, code = sequences[:0], code[:0]
	}
	for line := range strings.Lines(string(out)) {
		var at int
		field := strings.Split(strings.TrimSpace(line), "\t")
		switch {
		case strings.Contains(line, " STEXT "):
			check()
		case len(field) == 3 && field[1] == "PCDATA" && strings.HasPrefix(field[2], "$0, "):
			if _, err := fmt.Sscanf(field[0], "0x%x", &at); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if n := len(sequences); n > 0 && sequences[n-1].end == 0 {
				sequences[n-1].end = at
			}
			if restarts := field[2] == "$0, $-3" || field[2] == "$0, $-4"; restarts {
				sequences = append(sequences, sequence{start: at})
			}
		case strings.HasPrefix(line, "\t0x"):
			if _, err := fmt.Sscanf(line, "\t0x%x", &at); err == nil && len(field) == 1 && at == len(code) {
				dump, _, _ := strings.Cut(line[len("\t0x0000 "):], "  ")
				b, err := hex.DecodeString(strings.ReplaceAll(dump, " ", ""))
				if err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				code = append(code, b...)
			}
		}
	}
	check()
	if found < 1000 {
		t.Errorf("only %d sequences found", found)
	}
}
