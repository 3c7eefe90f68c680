package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/cgroup"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/complete"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/groups"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/grammar"
)

// Keys that every probe has, and functions of keys.
var (
	groupKeys = append(slices.Clone(grammar.TaskKeys), "probe", "func", "module", "stack", "sql(", "word(", "cxx(")
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
		for _, name := range complete.Arguments(cmd, []string{"*:*"}) {
			if strings.HasPrefix(name, prefix) {
				out = append(out, name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	if clicks, err := cmd.Flags().GetBool("allow-attach"); err == nil && clicks { // the page has the tree
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return complete.Probes(cmd, args, prefix)
}

// registerCompletions makes the values of a command's flags known to shells.
func registerCompletions(cmd *cobra.Command) {
	type completion func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective)
	fixed := func(values ...string) completion {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return values, cobra.ShellCompDirectiveNoFileComp
		}
	}
	probes := func(cmd *cobra.Command, args []string, last string) []string {
		probes, _ := complete.Probes(cmd, args, last)
		return probes
	}
	names := format.Names()
	if cmd.Name() == profileVerb.name() {
		names = profileFormats
	}
	ports := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"127.0.0.1:", "[::1]:", "localhost:"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	all := map[string]completion{
		"listen": ports,
		"sort":   fixed(groups.Orders...), "format": fixed(names...), "link": fixed(word.Links...), "stack": fixed("dwarf"), "stop": fixed("leave"), "signal": fixed("QUIT", "USR1", "USR2", "HUP", "TERM"),
		"show": complete.InList(func(*cobra.Command, []string, string) []string {
			return append(slices.Clone(groups.Orders[2:]), "rate", "p50", "p99")
		}),
		"span":   complete.InList(probes),
		"by":     complete.InList(complete.Beside(groupKeys)),
		"key":    complete.InList(complete.Beside(pairKeys)),
		"fields": complete.InList(complete.Beside(format.FieldNames)),
		"cgroup": cgroup.Complete,
	}
	for _, name := range []string{"weigh", "flow", "counter"} {
		all[name] = complete.InList(complete.Beside(nil))
	}
	for name, f := range all {
		if cmd.Flags().Lookup(name) != nil {
			cmd.RegisterFlagCompletionFunc(name, f)
		}
	}
}
