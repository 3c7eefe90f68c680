package interop_test

import (
	"os"
	"testing"

	"github.com/go-usdt/usdt/internal/leftover"
)

func TestMain(m *testing.M) { os.Exit(leftover.Run(m)) }
