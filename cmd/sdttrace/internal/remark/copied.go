package remark

import (
	"fmt"
	"io"
	"slices"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
)

// Copied reports the processes that run a copy of code with probes in it: probes do not fire
// there.
func Copied(stderr io.Writer, pids []int, probes []string) {
	var selectors []selector.Selector
	for _, probe := range probes {
		if sel, err := selector.Parse(probe); err == nil {
			selectors = append(selectors, sel)
		}
	}
	first, more := map[string]int{}, map[string]int{}
	var paths []string
	for _, pid := range pids {
		path := procfs.Copied(pid)
		switch {
		case path == "" || !slices.ContainsFunc(selectors, func(s selector.Selector) bool { return s.MatchPath(path) }):
		case first[path] != 0:
			more[path]++
		default:
			first[path], paths = pid, append(paths, path)
		}
	}
	for _, path := range paths {
		printCopied(stderr, first[path], more[path], path)
	}
}

func printCopied(w io.Writer, pid, more int, path string) {
	others := ""
	if more > 0 {
		others = fmt.Sprintf(" (and %d more)", more)
	}
	fmt.Fprintf(w, "sdttrace: process %d%s runs code of %s that it has copied to anonymous memory, as for large pages: no probe fires there\n", pid, others, printable.String(path))
}
