package symbols_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/symbols"
)

// TestAliases checks which of the names of a function counts: that of the source, unless it
// is the library's own and there is a public one; the shortest public one if only symbols
// are known.
func TestAliases(t *testing.T) {
	needs.Tools(t, "strip")
	versions := filepath.Join(t.TempDir(), "versions")
	if err := os.WriteFile(versions, []byte("LIB_1 {}; LIB_2 {} LIB_1;"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := needs.Compile(t, "testdata/alias.c", "gcc", "-O1", "-g", "-fPIC", "-shared", "-Wl,--version-script="+versions)
	tests := []struct{ symbol, debug, symtab, dynsym string }{
		{"__lib_alloc", "alloc_lib", "alloc_lib", "alloc_lib"},
		{"release", "release", "free_", "free_"},
		{"__lookup", "lookup", "lookup", "lookup"},
		{"copy_new", "copy_new", "copy", "copy"},
		{"copy_old", "copy_old", "copy", "copy"},
		{"_local", "_local", "_local", ""},
		{"start", "start", "start", "start"},
	}
	addrs := make([]uint64, len(tests))
	for i := range tests {
		addrs[i] = tracee.Symbol(t, path, tests[i].symbol)
	}
	check := func(how string, want func(i int) string) {
		r := symbols.NewResolver(nil)
		defer r.Close()
		for i, addr := range addrs {
			f, err := r.AppendFile(nil, path, addr)
			if err != nil {
				t.Fatal(err)
			}
			if f[0].Func != want(i) {
				t.Errorf("%s: %s is called %q, want %q", how, tests[i].symbol, f[0].Func, want(i))
			}
		}
	}
	check("debugging information", func(i int) string { return tests[i].debug })
	needs.Run(t, "strip", "-g", path)
	check(".symtab", func(i int) string { return tests[i].symtab })
	needs.Run(t, "strip", "-s", path)
	check(".dynsym", func(i int) string { return tests[i].dynsym })
}
