// Package web answers requests from package store, and has a probe of its own in
// the same provider.
package web

import (
	"time"

	"github.com/go-usdt/usdt/examples/packages/store"
	"github.com/go-usdt/usdt/provider"
)

var (
	service = provider.New("packages", nil)
	done    = provider.NewProbe3[string, int, time.Duration](service, "request_done", "path", "status", "took")
)

// Answer answers a request.
func Answer(path string) string {
	start := time.Now()
	answer := store.Get(path)
	if done.Enabled() {
		done.Fire(path, 200, time.Since(start))
	}
	return answer
}
