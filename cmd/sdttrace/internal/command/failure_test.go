package command

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestCode compares exit codes with what shells report.
func TestCode(t *testing.T) {
	for script, want := range map[string]int{"exit 3": 3, "exit 255": 255, "kill -SEGV $$": 139, "kill -TRAP $$": 133, "kill -TERM $$": 143} {
		err := fmt.Errorf("run: %w", &Failure{"/bin/sh", exec.Command("sh", "-c", script).Run()})
		if got := Code(err, 1); got != want {
			t.Errorf("%s: %d, want %d", script, got, want)
		}
		if copies := strings.Contains(err.Error(), "copies breakpoints"); copies != (want == 133) {
			t.Errorf("%s: %v", script, err)
		}
	}
	for _, err := range []error{errors.New("x"), &Failure{"x", errors.New("input/output error")}, exec.Command("false").Run()} {
		if got := Code(err, 7); got != 7 {
			t.Errorf("%v: %d, want 7", err, got)
		}
	}
}
