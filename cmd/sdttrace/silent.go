package main

import (
	"fmt"
	"io"

	"github.com/go-usdt/usdt/internal/procfs"
)

// silences says on stderr which file systems do not answer, each once.
type silences map[string]bool

func (s silences) announce(stderr io.Writer) {
	for _, path := range procfs.Silent() {
		if !s[path] {
			s[path] = true
			fmt.Fprintf(stderr, "sdttrace: %s: %v; probes there, and names of its code, are left out until it does\n", path, procfs.ErrSilent)
		}
	}
}
