//go:build linux

package provider_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// TestInlining compiles a use of every probe type and checks that the compiler
// inlined Fire and Enabled, down to the loads.
func TestInlining(t *testing.T) {
	needs.Tools(t, "go")
	t.Parallel()
	dir := t.TempDir()
	var src strings.Builder
	src.WriteString("package main\n\nimport \"github.com/go-usdt/usdt/provider\"\n\nvar p = provider.New(\"p\", nil)\n\nfunc main() {\n")
	types := []string{"int", "string", "[]byte", "float64", "[16]byte", "provider.Text"}
	values := []string{"1", `"x"`, "nil", "1.5", "[16]byte{1}", "provider.Error(nil)"}
	names := []string{"a", "b", "c", "d", "e", "f"}
	for n := range len(types) + 1 {
		inst, quoted := "", ""
		if n > 0 {
			inst = "[" + strings.Join(types[:n], ", ") + "]"
			quoted = `, "` + strings.Join(names[:n], `", "`) + `"`
		}
		fmt.Fprintf(&src, "\tp%d := provider.NewProbe%d%s(p, \"p%d\"%s)\n", n, n, inst, n, quoted)
		if n > 0 {
			fmt.Fprintf(&src, "\tp%d.FireFunc(func() (%s) { return %s })\n", n, strings.Join(types[:n], ", "), strings.Join(values[:n], ", "))
		}
		fmt.Fprintf(&src, "\tif p%d.Enabled() {\n\t\tprintln()\n\t}\n\tp%d.Fire(%s)\n", n, n, strings.Join(values[:n], ", "))
	}
	src.WriteString("\tr := provider.NewStructProbe[struct{ N int }](p, \"r\")\n\tr.FireFunc(func() struct{ N int } { return struct{ N int }{1} })\n")
	src.WriteString("\tg := p.Group(\"g\")\n\tif p.Enabled() || g.Enabled() {\n\t\tprintln()\n\t}\n}\n")
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(src.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", "-o", filepath.Join(dir, "main"), file).CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for n := range len(types) + 1 {
		for _, method := range []string{"Fire", "Enabled", "FireFunc"}[:min(n, 1)+2] {
			generic := fmt.Sprintf("inlining call to provider.(*Probe%d[", n)
			plain := fmt.Sprintf("inlining call to provider.(*Probe%d).%s", n, method)
			if !containsLine(string(out), generic, "])."+method+"\n") && !strings.Contains(string(out), plain) {
				t.Errorf("Probe%d.%s is not inlined", n, method)
			}
		}
	}
	if got := strings.Count(string(out), "inlining call to provider.when\n"); got < len(types) {
		t.Errorf("when is inlined %d times, want %d: Fire makes a closure otherwise", got, len(types))
	}
	if !containsLine(string(out), "inlining call to provider.(*StructProbe[", "]).FireFunc") {
		t.Error("Record.FireFunc is not inlined")
	}
	for _, inlined := range []string{"provider.(*Group).Enabled", "stub.(*Any).Active", "provider.(*Provider).Enabled", "stub.(*Many).Active"} {
		if !strings.Contains(string(out), "inlining call to "+inlined) {
			t.Errorf("%s is not inlined", inlined)
		}
	}
	if got := strings.Count(string(out), "inlining call to stub.(*Semaphore).Active"); got < len(types)+1 {
		t.Errorf("the semaphore's load is inlined %d times, want %d", got, len(types)+1)
	}
}

// containsLine reports whether a line of s contains all parts.
func containsLine(s string, parts ...string) bool {
	for line := range strings.Lines(s) {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			return true
		}
	}
	return false
}

func TestNoAllocs(t *testing.T) {
	p := newProvider("allocs")
	probe := provider.NewProbe6[int, string, []byte, float64, bool, string](p, "six", "a", "b", "c", "d", "e", "f")
	load(t, p)
	fire := func() {
		var buf [64]byte // stays on the stack: Fire keeps no argument
		probe.Fire(1, "sixteen bytes ok", buf[:], 1.5, true, string(buf[:20]))
		if probe.Enabled() {
			buf[0]++
		}
	}
	if n := testing.AllocsPerRun(1000, fire); n != 0 {
		t.Errorf("unwatched: %v allocations, want 0", n)
	}
	provider.Watch(p, 1)
	if n := testing.AllocsPerRun(1000, fire); n != 0 {
		t.Errorf("watched: %v allocations, want 0", n)
	}
}

// TestNoArg checks that the compiler says what makes an argument of a type that is none.
func TestNoArg(t *testing.T) {
	needs.Tools(t, "go")
	t.Parallel()
	file := filepath.Join(t.TempDir(), "main.go")
	src := `package main

import "github.com/go-usdt/usdt/provider"

func main() { provider.NewProbe1[struct{ X int }](nil, "a", "a") }
`
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "build", "-o", os.DevNull, file).CombinedOutput()
	if want := "missing in github.com/go-usdt/usdt/provider.orUseErrorStringerAsOrAddr | time.Time"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("go build: %v\n%.200s\nwant %q", err, out, want)
	}
}
