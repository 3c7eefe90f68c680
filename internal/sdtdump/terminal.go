package sdtdump

import (
	"io"
	"os"
)

// wantsColor reports whether output to w may be coloured: on a terminal, unless
// the user says otherwise (https://no-color.org).
func wantsColor(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && isTerminal(w)
}

// style is the look of a part of the text: ECMA-48, SGR.
type style string

const (
	bold      style = "\x1b[1m"
	red       style = "\x1b[31m"
	cyan      style = "\x1b[36m"
	normal    style = "\x1b[0m"
	eraseLine       = "\r\x1b[K"
)
