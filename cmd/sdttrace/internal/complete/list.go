package complete

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// InList completes the last of values that commas separate.
func InList(values func(cmd *cobra.Command, args []string, last string) []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
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

// Beside returns what completes names of arguments, of the probes that the command
// line names so far, and keys. Within sql( and cxx( only arguments fit.
func Beside(keys []string) func(*cobra.Command, []string, string) []string {
	return func(cmd *cobra.Command, args []string, last string) []string {
		out, function, end := slices.Clone(keys), "", ""
		if at := strings.IndexByte(last, '('); at >= 0 {
			out, function, end = nil, last[:at+1], ")"
		}
		for _, name := range Arguments(cmd, args) {
			out = append(out, function+name+end)
		}
		return out
	}
}

// Arguments returns the names of the arguments that the probes on the command line have.
func Arguments(cmd *cobra.Command, args []string) []string {
	spans, _ := cmd.Flags().GetStringArray("span") // "list" has no such flag
	for _, text := range spans {
		if s, err := session.ParseSpan(text); err == nil {
			args = append(args[:len(args):len(args)], s.Start, s.End)
		}
	}
	var selectors []selector.Selector
	for _, a := range args {
		if s, err := selector.Parse(a); err == nil && s.Kind == reader.USDT {
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
