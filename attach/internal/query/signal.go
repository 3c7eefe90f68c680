package query

import "golang.org/x/sys/unix"

// Signal is the number of a signal; 0 for none.
type Signal int

// Stops reports whether the signal stops a process that does not handle it.
func (s Signal) Stops() bool {
	return s == Signal(unix.SIGSTOP) || s == Signal(unix.SIGTSTP) || s == Signal(unix.SIGTTIN) || s == Signal(unix.SIGTTOU)
}
