// Package remark says on stderr what users should know of what is traced.
package remark

import (
	"fmt"
	"io"

	"github.com/go-usdt/usdt/internal/procfs"
)

// Silences says on stderr which file systems do not answer, each once.
type Silences map[string]bool

func (s Silences) Announce(stderr io.Writer) {
	for _, path := range procfs.Silent() {
		if !s[path] {
			s[path] = true
			fmt.Fprintf(stderr, "sdttrace: %s: %v; probes there, and names of its code, are left out until it does\n", path, procfs.ErrSilent)
		}
	}
}
