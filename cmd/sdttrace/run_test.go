package main

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
	}{
		{nil, exitUsage},
		{[]string{"--limit", "x", "a:b"}, exitUsage},
		{[]string{"nocolon"}, exitUsage},
		{[]string{"list", "nocolon"}, exitFailed}, // a provider that nobody declares
		{[]string{"./missing:a:b"}, exitFailed},
		{[]string{"-p", "4194305", "a:b"}, exitFailed},
		{[]string{"list", "nobody_has_this:probe"}, exitFailed},
		{[]string{"--help"}, exitDone},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), test.args, &stdout, &stderr); code != test.code {
			t.Errorf("sdttrace %q: exit code %d, want %d; stderr: %s", test.args, code, test.code, &stderr)
		}
		if test.code != exitDone && len(test.args) > 0 && stdout.Len() > 0 {
			t.Errorf("sdttrace %q printed %q", test.args, &stdout)
		}
	}
}

// TestUnprivileged traces a process of user nobody as nobody, which does not offer its
// probes.
func TestUnprivileged(t *testing.T) {
	_, nobody := asNobody(t)
	traced := tracee.StartVictim(t, nobody("traced", "-")).Ready()
	pid := strconv.Itoa(traced.PID())
	cmd := nobody("sdttrace", "-p", pid, "hello:*")
	out, _ := cmd.CombinedOutput()
	want := "not allowed, this process lacks CAP_BPF and CAP_PERFMON; and without privileges: process " + pid +
		" does not offer its probes through shared memory: a Go service that declares its probes by package provider would have to run with USDT_LOCAL=1; run: sudo " + cmd.Path + " -p " + pid + " 'hello:*'\n"
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.HasSuffix(string(out), want) || strings.Count(string(out), "\n") != 1 {
		t.Errorf("exit code %d, output %q, want %d and one line that ends %q", cmd.ProcessState.ExitCode(), out, exitFailed, want)
	}
}
