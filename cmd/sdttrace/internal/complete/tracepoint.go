package complete

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/tracepoint"
	"github.com/go-usdt/usdt/reader"
)

// completeTracepoints completes SYSTEM: and then EVENT. If tracefs cannot be read, there is nothing to offer.
func completeTracepoints(prefix string) ([]string, cobra.ShellCompDirective) {
	events, err := tracepoint.Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return tracepointsOf(events, prefix)
}

func tracepointsOf(events *tracepoint.Events, prefix string) (out []string, more cobra.ShellCompDirective) {
	system, event, ok := strings.Cut(prefix, ":")
	before, end := reader.Tracepoint.String()+":", ""
	var names []string
	if ok {
		before, prefix = before+system+":", event
		names, _ = events.Of(system) // a system that cannot be read has nothing to offer
	} else {
		end, more = ":", cobra.ShellCompDirectiveNoSpace
		names, _ = events.Systems()
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) && printable.IsName(name) {
			out = append(out, before+name+end)
		}
	}
	return out, more | cobra.ShellCompDirectiveNoFileComp
}
