// Package complete completes words of command lines from what runs on the machine.
package complete

import (
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/internal/kernelsites"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// Probes completes PROVIDER:NAME from the probes of the processes that
// -p names, or of all processes.
func Probes(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if kind, rest, ok := strings.Cut(prefix, ":"); ok && isFunction(kind) {
		return completeFunctions(kind, rest)
	}
	if words, ok := kernelsites.Complete(prefix); ok {
		if slices.ContainsFunc(words, func(word string) bool { return strings.HasSuffix(word, ":") }) {
			return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	seen := map[string]bool{}
	var out []string
	for p := range liveProbes(cmd) {
		name := p.Provider + ":" + p.Name
		// Shells expand completions, so offer only plain names.
		if !seen[name] && strings.HasPrefix(name, prefix) && printable.IsName(p.Provider) && printable.IsName(p.Name) {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// isFunction reports whether selectors of functions of files begin with a word.
func isFunction(word string) bool {
	kind, _ := reader.ParseProbeKind(word)
	return kind.InFile()
}

// liveProbes yields the probes of the processes that -p names, or of all processes.
func liveProbes(cmd *cobra.Command) iter.Seq[*reader.Probe] {
	return func(yield func(*reader.Probe) bool) {
		of := func(proc *reader.Process) bool {
			for p, err := range proc.Probes() {
				if err == nil && !yield(&p) {
					return false
				}
			}
			return true
		}
		pids, _ := cmd.Flags().GetIntSlice("pid")
		for _, pid := range pids {
			if proc, err := reader.OpenProcess(pid); err == nil {
				more := of(proc)
				proc.Close()
				if !more {
					return
				}
			}
		}
		if len(pids) > 0 {
			return
		}
		for proc, err := range reader.Processes() {
			if err == nil && !of(proc) {
				return
			}
		}
	}
}

// completeFunctions completes PATH:FUNC behind a kind: names of files that
// processes run, or paths, and then symbols of the file.
func completeFunctions(kind, prefix string) ([]string, cobra.ShellCompDirective) {
	name, function, ok := selector.CutPath(prefix)
	var out []string
	switch {
	case ok:
		for _, s := range symbolsOf(name, function) {
			out = append(out, kind+":"+name+":"+s)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	case strings.Contains(name, "/"):
		dir, base := filepath.Split(name)
		entries, _ := os.ReadDir(dir) // a directory that cannot be read has nothing to offer
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), base) || !printable.IsName(e.Name()) {
				continue
			}
			end := ":"
			if e.IsDir() {
				end = "/"
			}
			out = append(out, kind+":"+dir+e.Name()+end)
		}
	default:
		for path := range mappedFiles() {
			if base := filepath.Base(path); strings.HasPrefix(base, name) && printable.IsName(base) {
				out = append(out, kind+":"+base+":")
			}
		}
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// symbolsOf returns the functions whose symbols begin with prefix, of the file
// at a path or of one of that name that a process has mapped.
func symbolsOf(path, prefix string) []string {
	var out []string
	add := func(functions iter.Seq2[reader.Function, error]) {
		for fn, err := range functions {
			for _, s := range fn.Symbols {
				if err == nil && strings.HasPrefix(s, prefix) && printable.IsName(s) {
					out = append(out, s)
				}
			}
		}
	}
	if strings.Contains(path, "/") {
		f, err := reader.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		add(f.Functions())
	}
	for mapped, pid := range mappedFiles() {
		if filepath.Base(mapped) != path {
			continue
		}
		p, err := reader.OpenProcess(pid)
		if err != nil {
			continue
		}
		defer p.Close()
		add(p.Functions(func(object string) bool { return object == mapped }))
		break
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mappedFiles returns the paths of the files that processes have mapped with
// execute permission, and for each path one such process.
func mappedFiles() map[string]int {
	paths := map[string]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		maps, err := procfs.Maps(pid)
		if err != nil {
			continue
		}
		for _, o := range procfs.Objects(pid, maps) {
			paths[o.Path] = pid
		}
	}
	return paths
}
