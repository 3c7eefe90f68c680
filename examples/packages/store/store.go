// Package store is a library with a probe. It neither loads the probe nor chooses
// options: main does.
package store

import "github.com/go-usdt/usdt/provider"

// The provider is the service's. The package that calls New first creates it.
var (
	service = provider.New("packages", nil)
	get     = provider.NewProbe2[string, int](service, "store_get", "key", "size")
)

// Get returns the value of a key.
func Get(key string) string {
	value := "value of " + key
	get.Fire(key, len(value))
	return value
}
