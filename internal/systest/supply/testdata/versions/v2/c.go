// Package cache is the next version, whose probe has other arguments.
package cache

import "github.com/go-usdt/usdt/provider"

// Client fires when it gets something.
type Client[K ~string] struct {
	get *provider.Probe3[string, int64, provider.Text]
}

// New returns a Client.
func New[K ~string]() *Client[K] {
	p := provider.New("example_cache", nil)
	return &Client[K]{provider.NewProbe3[string, int64, provider.Text](p, "get_done", "key", "size", "err")}
}

// Get fires.
func (c *Client[K]) Get(key K, size int) { c.get.Fire(string(key), int64(size), provider.Error(nil)) }
