package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestDemoUnprivileged checks that the demo reports which privileges it lacks and
// what helps, and still shows the probes.
func TestDemoUnprivileged(t *testing.T) {
	_, nobody := asNobody(t)
	cmd := nobody("sdttrace", "demo")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	for _, want := range []string{"CAP_BPF and CAP_PERFMON", "shop:request_start", "shop:request_done", "shop:cache_lookup"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("stdout does not have %q:\n%s", want, stdout.String())
		}
	}
	if want := "run: sudo " + cmd.Path + " demo\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("stderr %q does not end with %q", stderr.String(), want)
	}
}
