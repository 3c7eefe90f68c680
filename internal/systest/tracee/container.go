package tracee

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// StartContainer starts a copy of a program, at path, in mount and PID
// namespaces of its own and waits until it is ready. It creates the directory of
// path, whose contents only the program sees. pid is the program's in the
// caller's PID namespace.
func StartContainer(t testing.TB, program, path string) (p *Program, pid int) {
	t.Helper()
	needs.Root(t)
	needs.Tools(t, "unshare", "mount")
	unshare := func(command ...string) *exec.Cmd {
		return exec.Command("unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child"}, command...)...)
	}
	if out, err := unshare("true").CombinedOutput(); err != nil {
		needs.Skip(t, "no namespaces here: %v: %s", err, out)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	const script = `mount -t tmpfs none "$1" && cp "$2" "$3" && exec "$3"`
	p = Start(t, unshare("sh", "-c", script, "sh", filepath.Dir(path), program, path)).Ready()
	// The program is the child of unshare.
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(children))); err != nil {
		t.Fatal(err)
	}
	return p, pid
}
