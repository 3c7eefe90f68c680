//go:build !linux

package symbols

// errnoNames returns none: only Linux's are known.
func errnoNames() []NamedValue { return nil }
