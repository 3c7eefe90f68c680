package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
)

// warnCopied reports the processes of -p that run a copy of code which probes may be in: none
// fires there. A session of the whole machine reports others itself, at its end.
func (f *traceFlags) warnCopied(probes []string, stderr io.Writer) {
	if !f.quiet && !f.user && len(f.command) == 0 {
		reportCopied(f.pids, probes, stderr)
	}
}

// explainCopied reports them all when a session of the whole machine has found nothing.
func (f *traceFlags) explainCopied(err error, probes []string, stderr io.Writer) {
	if f.user || len(f.command)+len(f.pids) > 0 || f.replayed != nil || !errors.Is(err, attach.ErrNoMatch) && !errors.Is(err, attach.ErrNoSite) {
		return
	}
	pids, _ := procfs.PIDs() // the error says what cannot be listed
	reportCopied(pids, probes, stderr)
}

func reportCopied(pids []int, probes []string, stderr io.Writer) {
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
