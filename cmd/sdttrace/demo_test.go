package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDemoUnprivileged holds that the demo says what it lacks and what helps,
// and shows the probes nevertheless.
func TestDemoUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
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
	path := filepath.Join(dir, "sdttrace")
	if err := os.WriteFile(path, self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "demo")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	for _, want := range []string{"CAP_BPF and CAP_PERFMON", "shop:request_start", "shop:request_done", "shop:cache_lookup"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("stdout does not have %q:\n%s", want, stdout.String())
		}
	}
	if want := "run: sudo " + path + " demo\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("stderr %q does not end with %q", stderr.String(), want)
	}
}
