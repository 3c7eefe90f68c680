//go:build !linux

package sdtdump

import "io"

// isTerminal says of every output that it is none: text is not coloured here.
func isTerminal(io.Writer) bool { return false }
