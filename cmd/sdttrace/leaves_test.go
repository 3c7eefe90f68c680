package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/sdtdump"
)

// TestNothingStays checks that commands leave nothing in memory when they have ended, so that
// what hostile files cost can be measured over many inputs.
func TestNothingStays(t *testing.T) {
	dir := t.TempDir()
	recorder, object := samples(t)
	path, elf, out := filepath.Join(dir, "in.usdt"), filepath.Join(dir, "in.so"), filepath.Join(dir, "out")
	for name, data := range map[string][]byte{path: recorder, elf: object} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	objects := func(runs int) uint64 {
		for i := range runs {
			args := replaying(i, path, out)
			run(t.Context(), args, io.Discard, io.Discard)
			sdtdump.Run(append([]string{elf}, strings.Fields(dumps[i%len(dumps)])...), io.Discard, io.Discard)
		}
		runtime.GC()
		runtime.GC() // what the first one has finalized
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapObjects
	}
	before, runs := objects(len(replays)), 2*len(replays)
	if after := objects(runs); after > before+uint64(20*runs) {
		t.Errorf("%d commands have left %d objects", 2*runs, after-before)
	}
}
