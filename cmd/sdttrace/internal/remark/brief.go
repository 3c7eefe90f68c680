package remark

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-usdt/usdt/internal/selector"
)

// Brief reports that processes whose files are not known before they run, since only
// --comm names them, may end unseen.
func Brief(stderr io.Writer, probes []string, rescan time.Duration) {
	anywhere := slices.ContainsFunc(probes, func(probe string) bool {
		sel, err := selector.Parse(probe)
		path, ok := sel.LiteralPath()
		return err == nil && !sel.Kind.InKernel() && !(ok && strings.Contains(path, "/"))
	})
	if anywhere {
		fmt.Fprintf(stderr, "sdttrace: --comm names no file: a program that is not in PATH is found by a rescan, every %v; --exe FILE and PATH:PROVIDER:NAME attach at once\n", rescan)
	}
}
