package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Keys that every probe has, and functions of keys.
var (
	groupKeys = append(slices.Clone(shape.TaskKeys), "probe", "stack", "sql(", "cxx(")
	pairKeys  = []string{"pid", "tid", "machine"}
)

// registerAll makes the values of flags known if a shell asks for them. Package cobra keeps what
// is registered, and with it all that the command has, for as long as the process lives.
func registerAll(root *cobra.Command, args []string) {
	if len(args) == 0 || !strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return
	}
	registerCompletions(root)
	for _, cmd := range root.Commands() {
		registerCompletions(cmd)
	}
}

// completeWords completes the words of a verb: an argument in front of probes, or probes.
func completeWords(v *verb, cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	_, words, _ := strings.Cut(v.use, " ")
	switch {
	case strings.HasPrefix(words, "EXPR") && len(args) == 0:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case strings.HasPrefix(words, "ARG") && len(args) == 0:
		var out []string
		for _, name := range argumentsOf(cmd, []string{"*:*"}) {
			if strings.HasPrefix(name, prefix) {
				out = append(out, name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	if clicks, err := cmd.Flags().GetBool("allow-attach"); err == nil && clicks { // the page has the tree
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeProbes(cmd, args, prefix)
}

// registerCompletions makes the values of a command's flags known to shells.
func registerCompletions(cmd *cobra.Command) {
	type complete func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective)
	fixed := func(values ...string) complete {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return values, cobra.ShellCompDirectiveNoFileComp
		}
	}
	probes := func(cmd *cobra.Command, args []string, last string) []string {
		probes, _ := completeProbes(cmd, args, last)
		return probes
	}
	names := format.Names()
	if cmd.Name() == profileVerb.name() {
		names = profileFormats
	}
	ports := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"127.0.0.1:", "[::1]:", "localhost:"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	all := map[string]complete{
		"listen": ports,
		"sort":   fixed(orders...), "format": fixed(names...), "link": fixed("auto", "multi", "perf"), "stack": fixed("dwarf"),
		"show": completeInList(func(*cobra.Command, []string, string) []string {
			return append(slices.Clone(orders[2:]), "rate", "p50", "p99")
		}),
		"span":   completeInList(probes),
		"by":     completeInList(argumentsBeside(groupKeys)),
		"key":    completeInList(argumentsBeside(pairKeys)),
		"fields": completeInList(argumentsBeside(format.FieldNames)),
		"cgroup": completeCgroup,
	}
	for _, name := range []string{"weigh", "flow", "counter"} {
		all[name] = completeInList(argumentsBeside(nil))
	}
	for name, f := range all {
		if cmd.Flags().Lookup(name) != nil {
			cmd.RegisterFlagCompletionFunc(name, f)
		}
	}
}

// completeInList completes the last of values that commas separate.
func completeInList(values func(cmd *cobra.Command, args []string, last string) []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		at := strings.LastIndexByte(prefix, ',') + 1
		var out []string
		for _, v := range values(cmd, args, prefix[at:]) {
			if strings.HasPrefix(v, prefix[at:]) {
				out = append(out, prefix[:at]+v)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// argumentsBeside returns what completes names of arguments, of the probes that the command
// line names so far, and keys. Within sql( and cxx( only arguments fit.
func argumentsBeside(keys []string) func(*cobra.Command, []string, string) []string {
	return func(cmd *cobra.Command, args []string, last string) []string {
		out, function, end := slices.Clone(keys), "", ""
		if at := strings.IndexByte(last, '('); at >= 0 {
			out, function, end = nil, last[:at+1], ")"
		}
		for _, name := range argumentsOf(cmd, args) {
			out = append(out, function+name+end)
		}
		return out
	}
}

// argumentsOf returns the names of the arguments that the probes on the command line have.
func argumentsOf(cmd *cobra.Command, args []string) []string {
	spans, _ := cmd.Flags().GetStringArray("span") // "list" has no such flag
	for _, text := range spans {
		if s, err := parseSpan(text); err == nil {
			args = append(args[:len(args):len(args)], s.start, s.end)
		}
	}
	var selectors []selector.Selector
	for _, a := range args {
		if s, err := selector.Parse(a); err == nil && s.Kind == selector.USDT {
			selectors = append(selectors, s)
		}
	}
	if len(selectors) == 0 {
		return nil
	}
	given, _ := cmd.Flags().GetStringSlice("providers")
	table, _ := prototype.Load(given...) // what cannot be read has nothing to offer
	names := map[string]bool{}
	for p := range liveProbes(cmd) {
		if !slices.ContainsFunc(selectors, func(s selector.Selector) bool { return s.Match(p.Path, p.Provider, p.Name) }) {
			continue
		}
		for _, name := range argumentNames(p, table) {
			if printable.IsName(name) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// argumentNames returns the names of a probe's arguments.
func argumentNames(p *reader.Probe, table *prototype.Table) (names []string) {
	if p.Type != nil {
		for i := range p.Type.Fields {
			names = append(names, p.Type.Fields[i].Name)
		}
		return names
	}
	if known := table.Lookup(p.Provider, p.Name, p.Arguments(), notes.Class(p.Class)); known != nil {
		for i := range known.Params {
			if name := known.Params[i].Name; name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// completeCgroup completes the path of a control group, one directory at a time.
func completeCgroup(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	mounts, _ := os.ReadFile("/proc/self/mountinfo") // without it there are no groups to offer
	dir, base := filepath.Split(prefix)
	var out []string
	for _, h := range hierarchies(mounts) {
		in := dir
		if !filepath.IsAbs(dir) {
			in = filepath.Join(h.mount, dir)
		}
		entries, _ := os.ReadDir(in)
		for _, e := range entries {
			if name := dir + e.Name() + "/"; e.IsDir() && strings.HasPrefix(e.Name(), base) && printable.IsName(e.Name()) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
