package sdtdump

import (
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

// completeProbes completes PROVIDER:NAME with the probes of the files or processes on
// the command line or, if there are none, of the processes on the machine.
func completeProbes(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var names []string
	add := func(p *reader.Probe) {
		// Shells expand the completions that they get.
		if name := p.Provider + ":" + p.Name; strings.HasPrefix(name, prefix) && printable.IsName(p.Provider) && printable.IsName(p.Name) {
			names = append(names, name)
		}
	}
	addAll := func(probes iter.Seq2[reader.Probe, error]) {
		for probe, err := range probes {
			if err == nil {
				add(&probe)
			}
		}
	}
	pid, _ := cmd.Flags().GetInt("pid")
	switch {
	case pid != 0:
		if p, err := reader.OpenProcess(pid); err == nil {
			defer p.Close()
			addAll(p.Probes())
		}
	case len(args) > 0:
		for _, path := range args {
			if f, err := reader.Open(path); err == nil {
				addAll(f.Probes())
				f.Close()
			}
		}
	default:
		for p, err := range reader.Processes() {
			if err == nil {
				addAll(p.Probes())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}
