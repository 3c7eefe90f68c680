package main

import (
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/command"
	"github.com/go-usdt/usdt/internal/gate"
)

func newGuardCommand(_, _ io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: command.Guard + " ROLE GROUP", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			group, err := strconv.Atoi(args[1])
			if err != nil {
				return usageError{err}
			}
			return gate.Stand(args[0], group)
		},
	}
}
