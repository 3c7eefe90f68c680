// Package store is a library with a probe. It neither loads it nor chooses options:
// that is up to main.
package store

import "github.com/go-usdt/usdt/provider"

// The provider is the service's. Whichever package calls New first makes it.
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
