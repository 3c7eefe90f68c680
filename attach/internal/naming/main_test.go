package naming

import (
	"os"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/leftover"
)

func TestMain(m *testing.M) { os.Exit(leftover.Run(m)) }
