package symbols_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// goProgram is testdata/deepgo at work, and what the runtime says about it.
type goProgram struct {
	pid, tid int
	pcs      []uint64
	frames   []string // "FUNCTION FILE LINE", the innermost first
}

// buildGo builds testdata/deepgo with a version of Go, "" for this one.
func buildGo(t testing.TB, version string, args ...string) string {
	t.Helper()
	needs.Tools(t, "go")
	out := filepath.Join(t.TempDir(), "deepgo")
	files := []string{"testdata/deepgo/main.go", "testdata/deepgo/generic.go"}
	tool, env := "go", append(os.Environ(), "GOFLAGS=-mod=mod")
	if version != "" {
		// The version's own command builds, since old ones do not know what newer ones
		// have in their environment.
		root := needs.Toolchain(t, version)
		tool = filepath.Join(root, "bin", "go")
		env = append(env, "GOENV=off", "GOROOT="+root, "GOTOOLCHAIN=local", "GO111MODULE=off")
	}
	if version != "" && version < "go1.18" {
		files[1] = "testdata/deepgo/plain.go"
	}
	cmd := exec.Command(tool, append(append([]string{"build", "-o", out}, args...), files...)...)
	cmd.Env = env
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, msg)
	}
	return out
}

// shapes are types of a generic function.
var shapes = regexp.MustCompile(`\[.*\]`)

// startGo starts a program that buildGo built.
func startGo(t testing.TB, path string) (p goProgram) {
	t.Helper()
	cmd := exec.Command(path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	p.pid = cmd.Process.Pid
	for lines := bufio.NewScanner(out); lines.Scan(); {
		what, rest, _ := strings.Cut(lines.Text(), " ")
		switch what {
		case "pc":
			var pc uint64
			fmt.Sscanf(rest, "%x", &pc)
			p.pcs = append(p.pcs, pc)
		case "frame":
			// Before Go 1.21, the runtime gave the types of generic functions.
			p.frames = append(p.frames, shapes.ReplaceAllString(rest, "[...]"))
		case "thread":
			fmt.Sscan(rest, &p.tid)
		case "ready":
			return p
		}
	}
	t.Fatalf("%s ended before it was ready", path)
	return p
}

// TestGo compares names of functions, inlined ones included, files and lines with the runtime's:
// for versions of Go that each have a table of their own, with and without symbols, at fixed
// addresses and not.
func TestGo(t *testing.T) {
	for _, version := range []string{"", "go1.16.15", "go1.18.10", "go1.20.14", "go1.27.4"} {
		for _, args := range [][]string{
			{},
			{"-ldflags=-s -w"},
			{"-buildmode=pie", "-ldflags=-s -w"},
			{"-buildmode=pie", "-ldflags=-s -w -linkmode=external"},
		} {
			t.Run(version+" "+strings.Join(args, " "), func(t *testing.T) {
				p := startGo(t, buildGo(t, version, args...))
				r := symbols.NewResolver(nil)
				defer r.Close()
				s, err := r.Process(p.pid)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				inlined := 0
				// runtime.Callers has a program counter for each function that is
				// inlined, the first of which is the machine's.
				for i := 0; i < len(p.pcs); {
					frames := s.AppendFrames(nil, p.pcs[i])
					for _, f := range frames {
						got = append(got, fmt.Sprint(f.Func, " ", f.File, " ", f.Line))
						if f.Inlined {
							inlined++
						}
					}
					i += len(frames)
				}
				g, w := strings.Join(got, "\n"), strings.Join(p.frames, "\n")
				if g != w {
					t.Errorf("got\n%s\nwant\n%s", g, w)
				}
				if inlined < 3 {
					t.Errorf("got %d inlined functions, want those of main.go", inlined)
				}
			})
		}
	}
}

// TestUnwindGo unwinds a stack of Go, and compares with the runtime.
func TestUnwindGo(t *testing.T) {
	for _, args := range [][]string{{}, {"-ldflags=-s -w"}, {"-buildmode=pie", "-ldflags=-s -w"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			p := startGo(t, buildGo(t, "", args...))
			awaitBlocked(t, p.tid)
			regs, stack := copyStack(t, p.tid, 16<<10)
			r := symbols.NewResolver(nil)
			defer r.Close()
			s, err := r.Process(p.pid)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range s.Stack(s.Unwind(nil, regs, stack)) {
				got = append(got, f.Func)
			}
			// The stack went on from main.wait.
			var want []string
			for _, f := range p.frames[1:] {
				want = append(want, strings.Fields(f)[0])
			}
			g, w := strings.Join(got, "\n"), strings.Join(want, "\n")
			if !strings.HasSuffix(g, "main.wait\n"+w) || !strings.HasPrefix(g, "internal/runtime/syscall.Syscall6") && !strings.HasPrefix(g, "internal/runtime/syscall/linux.Syscall6") {
				t.Errorf("got\n%s\nwant, after system calls and main.wait\n%s", g, w)
			}
		})
	}
}
