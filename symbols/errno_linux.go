package symbols

import "golang.org/x/sys/unix"

// errnoNames returns what numbers of errors are called.
func errnoNames() (all []NamedValue) {
	for n := range int64(unix.EHWPOISON) + 1 {
		if name := unix.ErrnoName(unix.Errno(n)); name != "" {
			all = append(all, NamedValue{Name: name, Value: n})
		}
	}
	return all
}
