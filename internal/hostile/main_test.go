package hostile_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/needs"
)

// hostile assembles testdata/hostile.S.
func hostile(t testing.TB) string {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	needs.Root(t)
	out := filepath.Join(t.TempDir(), "hostile")
	if msg, err := exec.Command("gcc", "-nostdlib", "-static", "-o", out, "testdata/hostile.S").CombinedOutput(); err != nil {
		needs.Skip(t, "needs gcc: %v: %s", err, msg)
	}
	return out
}

// build builds a command of this module.
func build(t testing.TB, pkg string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(pkg))
	if msg, err := exec.Command("go", "build", "-o", out, "github.com/go-usdt/usdt/"+pkg).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, msg)
	}
	return out
}

// program answers every line of its input with one.
type program struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func start(t testing.TB, cmd *exec.Cmd) *program {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &program{t, cmd, in, bufio.NewReader(out)}
}

func (p *program) pid() int { return p.cmd.Process.Pid }

func (p *program) do(line string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.out.ReadString('\n'); err != nil {
		p.t.Fatal(err)
	}
}

// needPrivileges skips the test if this process may not attach.
func needPrivileges(t testing.TB, err error) {
	t.Helper()
	if p := (*attach.PrivilegeError)(nil); errors.As(err, &p) {
		needs.Skip(t, "%v", err)
	}
}
