package complete

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

// kernelKinds are the words with which selectors of functions of the kernel begin.
var kernelKinds = []string{reader.Kprobe.String(), reader.Kretprobe.String(), reader.Fentry.String(), reader.Fexit.String()}

// completeKernel completes FUNC or MODULE:FUNC behind a kind. If the list of functions cannot be read,
// there is nothing to offer.
func completeKernel(kind, prefix string) ([]string, cobra.ShellCompDirective) {
	table, err := kernfunc.Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return functionsOf(table, kind, prefix), cobra.ShellCompDirectiveNoFileComp
}

func functionsOf(table *kernfunc.Table, kind, prefix string) (out []string) {
	of, rest, modules := strings.Cut(prefix, ":")
	before := kind + ":"
	if modules {
		before, prefix = before+of+":", rest
	}
	for i := range table.Functions {
		f := &table.Functions[i]
		if strings.HasPrefix(f.Name, prefix) && (!modules || f.Module == of) && printable.IsName(f.Name) {
			out = append(out, before+f.Name)
		}
	}
	return out
}
