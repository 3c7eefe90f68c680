package symbols_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// stackOf unwinds the stack of testdata/interrupted.c, of which size bytes are copied.
func stackOf(t *testing.T, path, what string, size int) (functions []string, cut error) {
	t.Helper()
	pid := start(t, path, what)
	awaitBlocked(t, pid)
	regs, stack := copyStack(t, pid, size)
	r := symbols.NewResolver(nil)
	defer r.Close()
	s, err := r.Process(pid)
	if err != nil {
		t.Fatal(err)
	}
	calls := s.Unwind(nil, regs, stack)
	for _, f := range s.Stack(calls) {
		functions = append(functions, f.Func)
	}
	return functions, calls.Cut
}

// interrupted compiles testdata/interrupted.c.
func interrupted(t *testing.T, flags ...string) string {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is in part in assembly of x86-64")
	}
	return needs.Compile(t, "testdata/interrupted.c", flags...)
}

// TestInterrupted names a function that a signal interrupted at its first instruction, and
// the restorer, which has call frames in one C library and no symbol in the other.
func TestInterrupted(t *testing.T) {
	for _, flags := range [][]string{{"gcc", "-O1"}, {"gcc", "-O1", "-static"}, {"musl-gcc", "-DMUSL", "-O1"}, {"musl-gcc", "-DMUSL", "-O1", "-static"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			needs.Tools(t, flags[0])
			got, _ := stackOf(t, interrupted(t, flags...), "first", 16<<10)
			want := []string{"wait_here", "handler", "__restore_rt", "first", "main"}
			if i := slices.Index(got, want[0]); i < 0 || len(got) < i+len(want) || !slices.Equal(got[i:i+len(want)], want) {
				t.Errorf("got %q, want %q in it", got, want)
			}
		})
	}
}

// TestCut unwinds stacks of which callers are missing, and one that is whole.
func TestCut(t *testing.T) {
	path := interrupted(t, "gcc", "-O1")
	for _, test := range []struct {
		what      string
		size      int
		outermost string
		want      string // in the reason; empty if the stack is whole
	}{
		{"plain", 16 << 10, "_start", ""},
		{"first", 16 << 10, "_start", ""},
		{"first", 256, "", "the part of the stack that was copied ends"},
		{"altstack", 16 << 10, "", "another stack"},
		{"context", 16 << 10, "", "nothing says who called libc.so.6"},
		{"tables", 16 << 10, "without_tables", "nothing says who called interrupted"},
	} {
		got, cut := stackOf(t, path, test.what, test.size)
		last := got[len(got)-1]
		if (cut == nil) != (test.want == "") || cut != nil && !strings.Contains(cut.Error(), test.want) || test.outermost != "" && last != test.outermost {
			t.Errorf("%s, %d bytes: got %q and %v, want %q", test.what, test.size, got, cut, test.want)
		}
	}
}
