//go:build !linux

package reader_test

import (
	"errors"
	"os"
	"testing"

	"github.com/go-usdt/usdt/reader"
)

// TestProcessesUnsupported checks that processes can be read on Linux only.
func TestProcessesUnsupported(t *testing.T) {
	if _, err := reader.OpenProcess(os.Getpid()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("OpenProcess: got %v, want an error that wraps errors.ErrUnsupported", err)
	}
	for _, err := range reader.Processes() {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Processes: got %v, want an error that wraps errors.ErrUnsupported", err)
		}
	}
}
