package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/selector"
)

// warnBrief reports that processes whose files are not known before they run, since only
// --comm names them, may end unseen.
func (f *traceFlags) warnBrief(probes []string, stderr io.Writer) {
	if f.comm == "" || f.exe != "" || f.quiet || f.user {
		return
	}
	anywhere := slices.ContainsFunc(probes, func(probe string) bool {
		sel, err := selector.Parse(probe)
		path, ok := sel.LiteralPath()
		return err == nil && !(ok && strings.Contains(path, "/"))
	})
	if anywhere {
		fmt.Fprintf(stderr, "sdttrace: --comm does not say which file to attach to: a program that is not in PATH is attached to when a rescan, every %v, meets a process of it; --exe FILE and PATH:PROVIDER:NAME attach at once\n", f.rescan)
	}
}
