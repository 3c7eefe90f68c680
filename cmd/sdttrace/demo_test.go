package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestDemoUnprivileged checks that the demo traces without privileges.
func TestDemoUnprivileged(t *testing.T) {
	if testing.Short() {
		t.Skip("short: the demonstration has real time to measure")
	}
	_, nobody := asNobody(t)
	out, err := nobody("sdttrace", "demo").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, want := range []string{
		"\nThis process may not trace via the kernel. It shares memory with the service",
		" shop:request_start id=1 method=\"GET\" path=", "Time in the handler",
		" while nobody watches it, and ", " ns while a tracer does through shared memory.\n", ", 0 lost; attached 3 of 3 sites; detached again.\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

// TestDemoRefused checks that the demo reports which privileges it lacks and what
// helps, and still shows the probes, where it may not even share memory.
func TestDemoRefused(t *testing.T) {
	_, nobody := asNobody(t)
	cmd := nobody("sdttrace", "demo")
	cmd.Env = append(os.Environ(), "USDT_LOCAL=0")
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
