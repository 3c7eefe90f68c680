package mangled_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/mangled"
)

// rustV0 are symbols of Rust's compiler and standard library, and what llvm-cxxfilt makes of them:
// closures within closures, and constructors, have names of no bytes.
//
//go:embed testdata/rustv0.txt
var rustV0 string

func TestRustV0(t *testing.T) {
	for line := range strings.Lines(rustV0) {
		symbol, want, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if got := mangled.Source(symbol); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", symbol, got, want)
		}
	}
}

// FuzzRustV0 checks that what is no symbol of Rust's is left alone, at a bounded cost.
func FuzzRustV0(f *testing.F) {
	for line := range strings.Lines(rustV0) {
		symbol, _, _ := strings.Cut(line, "\t")
		f.Add(symbol)
	}
	f.Add("_R" + strings.Repeat("NC", 1000) + strings.Repeat("00", 1000))
	f.Add("_RINvC1a1b" + strings.Repeat("TB_00", 5000))
	f.Fuzz(func(t *testing.T, symbol string) {
		if got := mangled.Source(symbol); len(got) > 1<<16 {
			t.Errorf("a name of %d bytes", len(got))
		}
	})
}
