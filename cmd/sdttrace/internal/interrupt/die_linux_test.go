package interrupt_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
)

// TestDieOfIgnored checks that a process ends by a signal, and goes on where its parent had the signal
// ignored, as a shell without job control does for what it starts with &.
func TestDieOfIgnored(t *testing.T) {
	if os.Getenv("USDT_TEST_DIE") != "" {
		interrupt.With(context.Background())
		interrupt.DieOf(syscall.SIGINT)
		os.Exit(7)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for before, want := range map[string]func(syscall.WaitStatus) bool{
		"":              func(s syscall.WaitStatus) bool { return s.Signaled() && s.Signal() == syscall.SIGINT },
		"trap '' INT; ": func(s syscall.WaitStatus) bool { return s.ExitStatus() == 7 },
	} {
		cmd := exec.Command("sh", "-c", before+`exec "$0" -test.run '^TestDieOfIgnored$'`, self)
		cmd.Env = append(os.Environ(), "USDT_TEST_DIE=1")
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || !want(exit.Sys().(syscall.WaitStatus)) {
			t.Errorf("%q: %v", before, err)
		}
	}
}
