package usdtslog_test

import (
	"log/slog"
	"os"

	"github.com/go-usdt/usdt/contrib/slog"
)

// Log records fire a probe, while somebody watches also those below the level.
func ExampleNewHandler() {
	logger := slog.New(usdtslog.NewHandler(slog.NewJSONHandler(os.Stderr, nil), nil))
	logger.Debug("not written", "user", 17)
}
