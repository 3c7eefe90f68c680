package reader_test

import (
	"slices"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// TestVersions tells functions of one name apart by their versions, in symbol tables of
// both kinds.
func TestVersions(t *testing.T) {
	for _, strip := range []string{"-Wl,--strip-all", "-g"} {
		path := needs.Compile(t, "testdata/versions.c", "gcc", "-O1", "-shared", "-fPIC", "-Wl,--version-script=testdata/versions.map", strip)
		f, err := reader.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		matched := map[string][]uint64{} // addresses by pattern
		var versioned []string
		for fn, err := range f.Functions() {
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"f", "f@V1", "f@@V2", "plain", "plain@@V2", "f@V2"} {
				if _, ok := fn.Match(func(name string) bool { return name == want }); ok {
					matched[want] = append(matched[want], fn.Address)
				}
			}
			if v := fn.Versioned(fn.Name()); v != "" {
				versioned = append(versioned, v)
			}
		}
		for want, n := range map[string]int{"f": 2, "f@V1": 1, "f@@V2": 1, "plain": 1, "plain@@V2": 1, "f@V2": 0} {
			if len(matched[want]) != n {
				t.Errorf("%s: %s is at %#x, want %d addresses", strip, want, matched[want], n)
			}
		}
		if slices.Equal(matched["f@V1"], matched["f@@V2"]) {
			t.Errorf("%s: both versions are at %#x", strip, matched["f@V1"])
		}
		if !slices.Contains(versioned, "plain@@V2") {
			t.Errorf("%s: got the versions %q", strip, versioned)
		}
	}
}
