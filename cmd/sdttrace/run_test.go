package main

import (
	"bytes"
	"context"
	"os"
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
	dir, nobody := asNobody(t)
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
