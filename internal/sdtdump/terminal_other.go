//go:build !linux

package sdtdump

import "io"

// isTerminal returns false: text is not coloured here.
func isTerminal(io.Writer) bool { return false }
