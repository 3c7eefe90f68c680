package symbols_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// TestNamesThatOverlap checks that names which lie in one another take memory in proportion to the
// file: of types, of the enumerators of many variables, and of the functions of one unit.
func TestNamesThatOverlap(t *testing.T) {
	needs.C(t)
	const long, functions, enumerators, variables, types = 60 << 10, 12000, 1000, 20, 10000
	var s strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	add(".globl _start\n.text\n_start: .fill %d, 1, 0x90\nend:", 16*functions)
	add(`.section .debug_str,"MS",@progbits,1`)
	add(".fill %d, 1, 0x61\n.byte 0", long)
	add(`.section .debug_abbrev,"",@progbits`)
	// A unit with low_pc and high_pc, a function, an enumeration, an enumerator, a variable, a structure.
	add(".byte 1,0x11,1, 0x11,1, 0x12,6, 0,0")
	add(".byte 2,0x2e,0, 3,0xe, 0x11,1, 0x12,6, 0,0")
	add(".byte 3,4,1, 0xb,0xb, 0,0")
	add(".byte 4,0x28,0, 3,0xe, 0x1c,0xb, 0,0")
	add(".byte 5,0x34,0, 3,0xe, 0x49,0x13, 2,0x18, 0,0")
	add(".byte 6,0x13,0, 3,0xe, 0xb,0xb, 0,0, 0")
	add(`.section .debug_info,"",@progbits`)
	add("unit: .long last-first\nfirst: .short 4\n.long 0\n.byte 8")
	add(".byte 1\n.quad _start\n.long end-_start")
	for i := range functions {
		add(".byte 2\n.long %d\n.quad _start+%d\n.long 16", i%long, 16*i)
	}
	add("enum: .byte 3, 4")
	for i := range enumerators {
		add(".byte 4\n.long %d\n.byte %d", i, i%256)
	}
	add(".byte 0")
	for i := range variables {
		add(".byte 5\n.long %d\n.long enum-unit\n.byte 9,3\n.quad _start", long-8-i)
	}
	for i := range types {
		add(".byte 6\n.long %d\n.byte 8", i)
	}
	add(".byte 0\nlast:")
	dir := t.TempDir()
	source, path := filepath.Join(dir, "x.s"), filepath.Join(dir, "x")
	if err := os.WriteFile(source, []byte(s.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-nostdlib", "-static", "-Wl,-Ttext=0x500000", source, "-o", path)
	grown := func(what string, f func() any) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		keep := f()
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(keep)
		if n := int64(after.HeapAlloc-before.HeapAlloc) >> 20; n > 300 { // the resolver keeps 256 MiB
			t.Errorf("%s take %d MiB", what, n)
		}
	}
	grown("names of types", func() any {
		c := symbols.OpenCode(path, true)
		defer c.Close()
		_, names, _, err := c.Cast(0, symbols.Cast{Type: "nothing", Name: "x", Pointer: true})
		if err == nil {
			t.Error("no error for names that overlap")
		}
		return names
	})
	grown("names of enumerators", func() any {
		c := symbols.OpenCode(path, true)
		defer c.Close()
		all, err := c.Variables(0x500000)
		if len(all) == 0 || err == nil {
			t.Errorf("%d variables, %v", len(all), err)
		}
		return all
	})
	grown("names of functions", func() any {
		r := symbols.NewResolver(nil)
		for i := range uint64(functions) {
			if f, err := r.AppendFile(nil, path, 0x500000+16*i); err != nil || len(f) != 1 || f[0].Func == "" {
				t.Fatalf("%#x: %d frames, %v", i, len(f), err)
			}
		}
		return r
	})
}
