package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// framelessC has a probe below functions that have no frame.
const framelessC = `#include <sys/sdt.h>
volatile int sink;
__attribute__((noinline)) void leaf(int n) { char b[64 + n]; b[0] = n; sink += b[0]; DTRACE_PROBE1(frameless, hit, n); sink++; }
__attribute__((noinline)) void mid(int n) { leaf(n); sink++; }
__attribute__((noinline)) void outer(int n) { mid(n); sink++; }
int main(void) { outer(1); return 0; }
`

// TestShortStack prints stacks of code without frame pointers, which do not look whole in any form.
func TestShortStack(t *testing.T) {
	needs.C(t)
	dir, src, prog := commands(t, "sdttrace"), filepath.Join(t.TempDir(), "frameless.c"), filepath.Join(t.TempDir(), "frameless")
	if err := os.WriteFile(src, []byte(framelessC), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-O2", "-fomit-frame-pointer", "-o", prog, src)
	const why = `frame pointers [^"\]]*, --stack=dwarf does without`
	for _, test := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--stack"}, `\n\tleaf .*\n\tmid .*\n\t\[truncated: ` + why + `\]\n`},
		{[]string{"--stack", "--json"}, `"func":"mid".*\],"truncated":"` + why + `"\}`},
		{[]string{"count", "--by", "stack"}, `\n\tmid .*\n\t\[truncated: ` + why + `\]\n`},
		{[]string{"profile", "--format", "folded"}, `frameless;\[truncated: ` + why + `\];mid;leaf 1\n`},
		{[]string{"--stack=dwarf"}, `\n\tmid .*\n\touter .*\n\tmain `},
	} {
		cmd := exec.Command(filepath.Join(dir, "sdttrace"), append(test.flags, prog+":frameless:hit", "--", prog)...)
		out, err := cmd.CombinedOutput()
		if err != nil || !regexp.MustCompile(test.want).Match(out) {
			t.Errorf("%q: got %v and %s, want %s", test.flags, err, out, test.want)
		}
	}
}
