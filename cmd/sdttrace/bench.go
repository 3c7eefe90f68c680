package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/bench"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/printable"
)

// benchTime is how long a measurement takes unless --duration says otherwise.
const benchTime = 20 * time.Second

func newBenchCommand(stdout, _ io.Writer) *cobra.Command {
	takes, asJSON := benchTime, false
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what probes cost on this machine",
		Long: `bench measures what probes cost a program on this machine: uprobes and uretprobes by the
instruction that they are on, and USDT probes of a Go program by what becomes of their events.
Each is shown in ns of CPU time, in system calls, whose time is measured as well, and in millions
a second, by one thread and by as many as there are processors.
It traces only itself.`,
		Example: `  sdttrace bench
  sdttrace bench --duration 1m --json > bench.json    a line for each row and number of threads`,
		DisableFlagsInUseLine: true,
		Args:                  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if takes <= 0 {
				return usageError{fmt.Errorf("--duration %v is not positive", takes)}
			}
			ctx := cmd.Context()
			var table bench.Table
			write := func(s string) error {
				if !asJSON {
					s = screen.Fold(s, screen.Width(stdout), 2)
				}
				_, err := io.WriteString(stdout, s)
				return output.Error(err)
			}
			if !asJSON {
				if err := write(table.Head() + "\n"); err != nil {
					return err
				}
			}
			for row, err := range bench.Run(ctx, takes) {
				if err != nil {
					return err
				}
				text := table.Add(row)
				if asJSON {
					line, err := printable.MarshalShown(&row)
					if err != nil {
						return err
					}
					text = string(line) + "\n"
				}
				if err := write(text); err != nil {
					return err
				}
			}
			if err := interrupt.ErrorOf(ctx, ctx.Err()); err != nil || asJSON {
				return err
			}
			return write("\n" + table.Advice() + "\n")
		},
	}
	set := word.Set{FlagSet: cmd.Flags()}
	set.Add("duration", &takes, "how long to measure")
	set.Add("json", &asJSON)
	return cmd
}
