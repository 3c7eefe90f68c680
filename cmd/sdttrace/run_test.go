package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
	}{
		{nil, exitUsage},
		{[]string{"--limit", "x", "a:b"}, exitUsage},
		{[]string{"nocolon"}, exitUsage},
		{[]string{"list", "nocolon"}, exitUsage},
		{[]string{"./missing:a:b"}, exitFailed},
		{[]string{"-p", "4194305", "a:b"}, exitFailed},
		{[]string{"list", "nobody_has_this:probe"}, exitFailed},
		{[]string{"--help"}, exitDone},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), test.args, &stdout, &stderr); code != test.code {
			t.Errorf("sdttrace %q: exit code %d, want %d; stderr: %s", test.args, code, test.code, &stderr)
		}
		if test.code != exitDone && stdout.Len() > 0 {
			t.Errorf("sdttrace %q printed %q", test.args, &stdout)
		}
	}
}

// TestUnprivileged traces, as nobody, a process of nobody.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	// testscript.Main runs the command that the binary is called by.
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	nobody := func(name string, args ...string) *exec.Cmd {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, self, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, args...)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		return cmd
	}
	pidFile := filepath.Join(dir, "pid")
	traced := nobody("traced", pidFile)
	if err := traced.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		traced.Process.Kill()
		traced.Wait()
	}()
	for {
		if _, err := os.Stat(pidFile); err == nil {
			break
		}
		if traced.Process.Signal(syscall.Signal(0)) != nil {
			t.Fatal("the traced program has ended")
		}
		time.Sleep(time.Millisecond)
	}
	pid := strconv.Itoa(traced.Process.Pid)
	cmd := nobody("sdttrace", "-p", pid, "hello:*")
	out, _ := cmd.CombinedOutput()
	want := "not allowed, this process lacks CAP_BPF and CAP_PERFMON; run: sudo " + cmd.Path + " -p " + pid + " 'hello:*'\n"
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.HasSuffix(string(out), want) || strings.Count(string(out), "\n") != 1 {
		t.Errorf("exit code %d, output %q, want %d and one line that ends %q", cmd.ProcessState.ExitCode(), out, exitFailed, want)
	}
}
