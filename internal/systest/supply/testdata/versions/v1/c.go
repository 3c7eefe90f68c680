// Package cache is a library whose constructor declares a probe.
package cache

import "github.com/go-usdt/usdt/provider"

// Client fires when it gets something.
type Client struct {
	get *provider.Probe2[string, int]
}

// New returns a Client.
func New() *Client {
	p := provider.New("example_cache", nil)
	return &Client{provider.NewProbe2[string, int](p, "get_done", "key", "size")}
}

// Get fires.
func (c *Client) Get(key string, size int) { c.get.Fire(key, size) }
