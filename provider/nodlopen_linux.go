//go:build !cgo || !usdt_dlopen

package provider

// dlopenObject always fails in this build.
func dlopenObject(string, *Options, *image) (memory, error) {
	return nil, errorf("dlopen needs cgo and the build tag usdt_dlopen: %w", ErrNotSupported)
}
