package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// listedSelectors returns the address and the PROBE of each row that "sdttrace list" prints.
func listedSelectors(t *testing.T, selector string) (rows [][2]string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), []string{"list", selector}, &stdout, &stderr); code != 0 {
		t.Errorf("list %s: %s", selector, stderr.String())
		return nil
	}
	for line := range strings.Lines(stdout.String()) {
		address, rest, _ := strings.Cut(line, "  ")
		if !strings.HasPrefix(address, "0x") {
			continue
		}
		_, rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
		probe, _, _ := strings.Cut(strings.TrimLeft(rest, " "), "  ")
		rows = append(rows, [2]string{address, probe})
	}
	return rows
}

// typed returns the word that a shell makes of what list printed.
func typed(t *testing.T, printed string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "printf %s "+printed).Output()
	if err != nil {
		t.Fatalf("sh reads %s: %v", printed, err)
	}
	return string(out)
}

// TestTyped types each selector that list prints into a shell, and finds the function whose
// row it was: in C++, in Go, and where two have one name, of a file in a directory with
// characters that selectors and shells know.
func TestTyped(t *testing.T) {
	needs.Tools(t, "g++", "gcc", "go")
	dir := filepath.Join(t.TempDir(), "a:b [c] $d 'e'")
	if err := os.MkdirAll(filepath.Join(dir, "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cc := write("v.cc", `#include <vector>
struct V { int a[4]; int &operator[](int i); V &operator+(int); template<class T> T get(T, int *); };
int &V::operator[](int i) { return a[i & 3]; }
V &V::operator+(int i) { a[0] += i; return *this; }
template<class T> T V::get(T t, int *p) { return t + *p; }
template long V::get<long>(long, int *);
template std::vector<int>::vector(const std::vector<int> &);
int main() { V v{}; return v[1] + (v + 2)[0]; }
`)
	cxx := filepath.Join(dir, "cxx")
	needs.Run(t, "g++", "-O1", "-o", cxx, cc)
	old := write("v.c", `int f_old(int x) { return x + 1; }
int f_new(int x) { return x * 3; }
__asm__(".symver f_old, f@V1");
__asm__(".symver f_new, f@@V2");
`)
	lib := filepath.Join(dir, "lib.so")
	needs.Run(t, "gcc", "-O1", "-s", "-shared", "-fPIC", "-Wl,--version-script="+write("map", "V1 { global: f; local: *; };\nV2 { global: f; } V1;\n"), "-o", lib, old)
	source := write("go/main.go", `package main

//go:noinline
func Sum[T int | int64 | float64](x ...T) (sum T) {
	for _, v := range x {
		sum += v
	}
	return sum
}

func main() { println(Sum(1, 2), Sum(int64(3)), Sum(1.5)) }
`)
	golang := filepath.Join(dir, "golang")
	needs.Run(t, "go", "build", "-o", golang, source)
	quote := strings.NewReplacer("[", `\[`, ":", `\:`).Replace
	for path, c := range map[string]struct {
		pattern string
		atLeast int
	}{cxx: {"*", 8}, lib: {"f", 2}, golang: {"main.*", 4}} {
		rows := listedSelectors(t, "uprobe:"+quote(path)+":"+c.pattern)
		if len(rows) < c.atLeast {
			t.Errorf("%s: %d functions, want %d: %q", path, len(rows), c.atLeast, rows)
		}
		for _, row := range rows {
			if again := listedSelectors(t, typed(t, row[1])); len(again) != 1 || again[0] != row {
				t.Errorf("%s is typed as %s, which names %q, want %q alone", row[1], typed(t, row[1]), again, row)
			}
		}
	}
	// The name that it proposes in place of the missing one works as well.
	var stderr bytes.Buffer
	run(context.Background(), []string{"list", "uprobe:" + quote(golang) + `:main.Summ\[go.shape.int64]`}, &bytes.Buffer{}, &stderr)
	_, hint, _ := strings.Cut(stderr.String(), ", but ")
	hint, _, ok := strings.Cut(hint, " would")
	if !ok {
		t.Fatalf("no hint: %s", stderr.String())
	}
	if rows := listedSelectors(t, typed(t, hint)); len(rows) != 1 || !strings.Contains(rows[0][1], "main.Sum") {
		t.Errorf("the hint %s names %q", hint, rows)
	}
}
