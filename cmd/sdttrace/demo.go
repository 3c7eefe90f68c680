package main

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/shell"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/tour"
	"github.com/go-usdt/usdt/internal/demo"
)

func newDemoCommand(stdout, stderr io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Trace a demo service: its events, a histogram, and what a probe costs",
		Long: `demo starts a small web shop, a Go program that declares three typed probes,
and lets customers in. It attaches to the probes by name, prints the first
events and a histogram, and measures what a probe costs. It takes some seconds.
If it has no privileges, it traces through shared memory, as --user does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := tour.Run(cmd.Context(), shell.Privileged([]string{"demo"}), stdout, stderr)
			if errors.Is(err, tour.ErrReported) {
				err = errReported
			}
			return interrupt.ErrorOf(cmd.Context(), err)
		},
	}
}

// newDemoServiceCommand returns the command of the service that the demo starts.
func newDemoServiceCommand(stdout, stderr io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:    "demo-service",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return demo.Serve(os.Stdin, stdout, stderr) },
	}
}
