package interop_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/leftover"
)

func TestMain(m *testing.M) {
	if os.Getenv(loadMemoryRole) != "" {
		if err := loadMemory(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(leftover.Run(m))
}
