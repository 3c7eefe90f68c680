//go:build !cgo || !usdt_dlopen

package provider

import "fmt"

// dlopenObject always fails in this build.
func dlopenObject(string, *Options, *image) (memory, error) {
	return nil, fmt.Errorf("dlopen needs cgo and the build tag usdt_dlopen: %w", ErrNotSupported)
}
