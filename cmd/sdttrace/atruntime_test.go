package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// TestDeclaredAtRunTime selects probes in the file of this test, a Go program:
// its file has none.
func TestDeclaredAtRunTime(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), []string{self + ":atruntime:*"}, &stdout, &stderr)
	if said := stderr.String(); code != exitFailed || !strings.Contains(said, "declares its probes at run time") || !strings.Contains(said, "-p PID") {
		t.Errorf("exit code %d, want %d, and it says %q", code, exitFailed, said)
	}
}
