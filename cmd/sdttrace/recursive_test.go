package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestRecursive counts the returns of a function that calls itself more often than the kernel
// traces returns of a thread.
func TestRecursive(t *testing.T) {
	needs.Root(t)
	needs.C(t)
	dir := commands(t, "sdttrace")
	program := filepath.Join(dir, "recursive")
	const source = `
__attribute__((noinline)) int descend(int n)
{
	int below = n > 1 ? descend(n - 1) : 0;
	__asm__ volatile("" : "+r"(below) : : "memory");
	return below + 1;
}

int main(void) { return descend(200) + descend(100) != 300; }
`
	if err := os.WriteFile(program+".c", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-O1", "-fno-optimize-sibling-calls", "-o", program, program+".c")
	for _, test := range []struct{ args, want string }{
		{"stats retval --show count,max --json uretprobe:" + program + ":descend", `"count":300,"max":200`},
		{"latency --json uprobe:" + program + ":descend", `"count":300,`},
	} {
		out, err := exec.Command(filepath.Join(dir, "sdttrace"), append(strings.Fields(test.args), "--", program)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v\n%s", test.args, err, out)
		}
	}
}
