package reader_test

import (
	"io"
	"os"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func TestMain(m *testing.M) {
	tracee.Run(tracee.Roles{"idle": func([]string) error { _, err := io.Copy(io.Discard, os.Stdin); return err }})
	os.Exit(leftover.Run(m))
}
