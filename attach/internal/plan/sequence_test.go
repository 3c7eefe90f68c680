package plan

import (
	"errors"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// TestSequences refuses the instructions of restartable sequences, which linkers describe by
// several kinds of relocations, and no others.
func TestSequences(t *testing.T) {
	needs.C(t)
	in := []string{"begins", "inside", "commits", "again"}
	out := []string{"before", "behind", "aborts", "last"}
	if nop := "nop"; runtime.GOARCH == "amd64" {
		out = append(out, nop)
	} else {
		in = append(in, nop)
	}
	for _, command := range []string{
		"gcc -no-pie", "gcc -pie -fPIE", "gcc -shared -fPIC", "gcc -static", "gcc -static-pie",
		"gcc -pie -fPIE -fuse-ld=gold", "gcc -pie -fPIE -fuse-ld=lld", "clang -pie -fPIE -fuse-ld=lld -Wl,--pack-dyn-relocs=relr", "gcc -pie -fPIE -fuse-ld=mold",
	} {
		words := strings.Fields(command)
		_, linker, _ := strings.Cut(command, "-fuse-ld=")
		if linker, _, _ = strings.Cut(linker, " "); linker != "" {
			needs.Tools(t, "ld."+linker)
		}
		needs.Tools(t, words[0])
		path := filepath.Join(t.TempDir(), "sequence")
		needs.Run(t, words[0], append(words[1:], "-o", path, "testdata/sequence.c")...)
		f, err := reader.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		refused := map[string]bool{}
		for fn, err := range f.Functions() {
			if err != nil {
				t.Fatal(err)
			}
			name := fn.Symbols[0]
			if !slices.Contains(in, name) && !slices.Contains(out, name) {
				continue
			}
			p := fn.Entry()
			p.Path = path
			d := planner(t, false, sys.NoOptimization, false).Plan(&p, 0)
			if d.Reason != nil && (!errors.Is(d.Reason, ErrUnsafe) || !strings.Contains(d.Reason.Error(), "restartable sequence")) {
				t.Errorf("%s: %s: %v", command, name, d.Reason)
			}
			refused[name] = d.Reason != nil
			if d := planner(t, true, sys.NoOptimization, false).Plan(&p, 0); d.Reason != nil {
				t.Errorf("%s: %s is refused though forced: %v", command, name, d.Reason)
			}
		}
		want := map[string]bool{}
		for _, name := range in {
			want[name] = true
		}
		for _, name := range out {
			want[name] = false
		}
		if !maps.Equal(refused, want) {
			t.Errorf("%s: refused are %v, want %v", command, refused, want)
		}
	}
}
