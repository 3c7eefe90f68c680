package supply_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneTableOfGrammars checks that package notes knows an architecture by one
// grammar and one line of the table: no other code asks for the machine.
func TestOneTableOfGrammars(t *testing.T) {
	files, err := filepath.Glob("../../../notes/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source: %v", err)
	}
	for _, file := range files {
		if base := filepath.Base(file); strings.HasSuffix(base, "_test.go") || base == "grammar.go" || base == "machine.go" { // which has the numbers
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, "EM_") {
				t.Errorf("%s:%d asks for the machine, which only the table in grammar.go may: %s", file, i+1, line)
			}
		}
	}
}
