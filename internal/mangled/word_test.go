package mangled_test

import (
	"debug/elf"
	"os/exec"
	"strings"
	"testing"

	"github.com/ianlancetaylor/demangle"

	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestCopied checks that symbols have the words of their names, those of libstdc++ and others,
// unless Copied says that these may be missing.
func TestCopied(t *testing.T) {
	path, err := exec.Command("gcc", "-print-file-name=libstdc++.so.6").Output()
	if err != nil {
		needs.Skip(t, "needs gcc: %v", err)
	}
	f, err := elf.Open(strings.TrimSpace(string(path)))
	if err != nil {
		needs.Skip(t, "needs libstdc++: %v", err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{
		"_RNvCs15kBYyAo9fc_7mycrate7example", "_RNvMs_NtCs1234_7mycrate3fooNtB4_3Bar3bazhy", "_RNCNvC3foo3bar0B3_",
		"_ZN71_$LT$core..any..TypeId$u20$as$u20$core..fmt..Debug$GT$3fmt17h8c0b9e9a5e1c0c0aE", "_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
		"_ZN12_GLOBAL__N_13runEv", "_ZZ4mainENKUliE_clEi", "_ZGVZ3foovE1x", "_ZTV3Foo", "_ZThn16_N3Foo3barEv", "_ZN3FooC2Ev", "_ZN3FooD0Ev", "_ZN3foolsERSoRKS_",
	}
	for i := 0; i < len(symbols); i += 5 {
		names = append(names, symbols[i].Name)
	}
	words, copied := 0, 0
	for _, symbol := range names {
		for _, name := range []string{mangled.Source(symbol), mangled.Source(symbol, demangle.NoParams)} {
			for _, word := range strings.FieldsFunc(name, func(c rune) bool {
				return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
			}) {
				if words++; !mangled.Copied(word) {
					continue
				}
				if copied++; !strings.Contains(symbol, word) {
					t.Errorf("%s, %q, does not have %s", symbol, name, word)
				}
			}
		}
	}
	if copied < words/4 || copied < 1000 {
		t.Errorf("%d of %d words are said to be copied", copied, words)
	}
}
