package targets_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// buildTracer returns a directory with sdttrace in it.
func buildTracer(t testing.TB) string {
	t.Helper()
	needs.Root(t)
	return filepath.Dir(needs.Build(t, "cmd/sdttrace"))
}

// counts runs sdttrace on a command and returns its counts by probe, and what the
// command prints.
func counts(t *testing.T, dir string, args ...string) (map[string]int, string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), append([]string{"count", "-q", "--json", "--by", "probe"}, args...)...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sdttrace %q: %v\n%s", args, err, &said)
	}
	got := map[string]int{}
	for line := range strings.Lines(string(out)) {
		var group struct {
			By    map[string]string
			Count int
		}
		if err := json.Unmarshal([]byte(line), &group); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got[group.By["probe"]] = group.Count
	}
	return got, said.String()
}

// TestCommandExecutes traces a script, which other programs execute, from
// Python's first call on: probes fire as often as Python counts, and as without
// the other programs.
func TestCommandExecutes(t *testing.T) {
	python := findPython(t)
	dir := buildTracer(t)
	// All collections happen and are printed here.
	script := `#!/usr/bin/env ` + python + `
import gc
told = [0]
gc.callbacks.append(lambda phase, info: told.__setitem__(0, told[0] + (phase == "stop")))
before = sum(s["collections"] for s in gc.get_stats())
for i in range(20): gc.collect()
print("collected", before + told[0])
gc.disable()
import os
os._exit(0)
`
	path := filepath.Join(dir, "script")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{python, path}, {"nice", python, path}, {path}, {"env", "nice", path}} {
		got, said := counts(t, dir, append([]string{"python:gc__done", "python:import__find__load__start", "--"}, command...)...)
		var collected int
		if _, err := fmt.Sscanf(said, "collected %d", &collected); err != nil {
			t.Fatalf("%q: %v", said, err)
		}
		if n := got["python:gc__done"]; n != collected || n < 20 {
			t.Errorf("%q: %d collections, Python counts %d", command, n, collected)
		}
	}
}

// TestCommandOpens traces libjvm.so, which the java command opens when it runs.
func TestCommandOpens(t *testing.T) {
	dir := buildTracer(t)
	var java string
	for _, candidate := range jvms() {
		if hasProvider(filepath.Join(candidate, "lib/server/libjvm.so"), "hotspot") {
			java = filepath.Join(candidate, "bin/java")
		}
	}
	if java == "" {
		needs.Skip(t, "needs OpenJDK 17 or later with probes hotspot:*")
	}
	log := filepath.Join(dir, "log")
	got, _ := counts(t, dir, "hotspot:vm__init__*", "hotspot:class__loaded", "--", java, "-Xlog:class+load:file="+log+":none", "-version")
	loaded, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"hotspot:vm__init__begin": 1, "hotspot:vm__init__end": 1, "hotspot:class__loaded": strings.Count(string(loaded), " source: "),
	}
	for probe, n := range want {
		if got[probe] != n || n == 0 {
			t.Errorf("%s fired %d times, want %d", probe, got[probe], n)
		}
	}
}
