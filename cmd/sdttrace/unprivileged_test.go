package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// asNobody returns a function that makes commands to run as the user nobody. A
// command's name is one that TestMain knows; commands are copies of this program
// in the returned directory, where that user may write.
func asNobody(t *testing.T) (dir string, command func(name string, args ...string) *exec.Cmd) {
	t.Helper()
	needs.Root(t) // to become another user
	// testscript.Main runs the command that the binary is called by.
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir, func(name string, args ...string) *exec.Cmd {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, self, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, args...)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		return cmd
	}
}

// TestCommandUnprivileged checks that a command is not started without the
// privileges to trace it, and that the error names them and what helps.
func TestCommandUnprivileged(t *testing.T) {
	dir, nobody := asNobody(t)
	ran := filepath.Join(dir, "ran")
	cmd := nobody("sdttrace", "a:b", "--", "touch", ran)
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	if want := "lacks CAP_BPF and CAP_PERFMON; run: sudo " + cmd.Path + " a:b -- touch " + ran + "\n"; !strings.HasSuffix(string(out), want) {
		t.Errorf("got %q, want it to end with %q", out, want)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the command ran")
	}
}

// TestNoMatchUnprivileged checks that the error for no match says that the
// processes of other users could not be read, and what helps.
func TestNoMatchUnprivileged(t *testing.T) {
	_, nobody := asNobody(t)
	cmd := nobody("sdttrace", "nobody_has_this:*")
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	begin, end := "sdttrace: no probe matches nobody_has_this:* ", "lacks CAP_SYS_PTRACE); run: sudo "+cmd.Path+" 'nobody_has_this:*'\n"
	if got := string(out); !strings.HasPrefix(got, begin) || !strings.HasSuffix(got, end) {
		t.Errorf("got %q, want it to begin with %q and to end with %q", got, begin, end)
	}
}
