package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

const example = "../../../examples/till"

// generated runs a generator on the example's program with arguments, and returns where it has
// written to.
func generated(t *testing.T, env []string, tool string, args ...string) (dir, said string, err error) {
	t.Helper()
	needs.Tools(t, "go", "clang", "llvm-strip")
	dir = t.TempDir()
	args = append([]string{"run", tool, "-output-dir", dir, "-go-package", "main"}, args...)
	cmd := exec.Command("go", append(args, "till", "till.bpf.c", "--", "-I/usr/include/x86_64-linux-gnu")...)
	cmd.Dir = example
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return dir, string(out), err
}

const (
	bpf2go  = "github.com/cilium/ebpf/cmd/bpf2go"
	usdt2go = "github.com/go-usdt/usdt/attach/collection/usdt2go"
)

// TestGenerate has usdt2go write Go and an object that cilium/ebpf reads by itself.
func TestGenerate(t *testing.T) {
	dir, said, err := generated(t, nil, usdt2go, "-target", "amd64,arm64", "-type", "turnover")
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, machine := range []string{"x86", "arm64"} {
		stem := filepath.Join(dir, "till_"+machine+"_bpfel")
		source, err := os.ReadFile(stem + ".go")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"type tillTurnover struct", "func loadTill() (*ebpf.CollectionSpec, error)"} {
			if !strings.Contains(string(source), want) {
				t.Errorf("%s.go lacks %q", stem, want)
			}
		}
		spec, err := ebpf.LoadCollectionSpec(stem + ".o")
		if err != nil {
			t.Error(err)
		} else if p := spec.Programs["order"]; p == nil || p.AttachTo != "till:order" {
			t.Errorf("%s has the programs %v", stem, spec.Programs)
		}
	}
}

// TestCompiler chooses a compiler by bpf2go's flag and its variable.
func TestCompiler(t *testing.T) {
	for _, test := range []struct{ env, args []string }{
		{nil, []string{"-cc", "/no/such/compiler"}},
		{[]string{"BPF2GO_CC=/no/such/compiler", "BPF2GO_STRIP=llvm-strip"}, nil},
	} {
		_, said, err := generated(t, test.env, usdt2go, append(test.args, "-target", "amd64")...)
		if err == nil || !strings.Contains(said, "/no/such/compiler") {
			t.Errorf("%v %v: %v: %s", test.env, test.args, err, said)
		}
	}
}

// TestCompileErrors checks that what the compiler says keeps its lines.
func TestCompileErrors(t *testing.T) {
	_, said, err := generated(t, nil, usdt2go) // usdt.bpf.h wants to know the machine
	if err == nil || !strings.Contains(said, "usdt.bpf.h") || strings.Contains(said, `\n`) || strings.Count(said, "\n") < 3 {
		t.Errorf("%v: %s", err, said)
	}
}

// TestNeeded checks that bpf2go refuses the program by itself. If it does not any more, usdt2go
// can go.
func TestNeeded(t *testing.T) {
	if _, said, err := generated(t, nil, bpf2go, "-target", "amd64"); err == nil || !strings.Contains(said, "STB_WEAK") {
		t.Errorf("bpf2go: %v: %s", err, said)
	}
}

func TestWithout(t *testing.T) {
	for _, test := range []struct{ args, rest, value string }{
		{"-cc clang-19 a b.c", "a b.c", "clang-19"},
		{"--cc=clang-19 -type x a b.c", "-type x a b.c", "clang-19"},
		{"a b.c -- -cc x", "a b.c -- -cc x", ""},
		{"-cflags -O1 a b.c", "-cflags -O1 a b.c", ""},
		{"a -cc", "a", ""},
	} {
		rest, value := without("cc", strings.Fields(test.args))
		if !slices.Equal(rest, strings.Fields(test.rest)) || value != test.value {
			t.Errorf("%s: got %q, %q", test.args, rest, value)
		}
	}
}
