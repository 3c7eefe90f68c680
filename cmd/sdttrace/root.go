package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/printable"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1 // also: nothing matched
	exitUsage  = 2
	exitSignal = 128 // plus the signal that came before there was anything to show
)

// subcommands are the commands besides tracing.
var subcommands = []func(stdout, stderr io.Writer) *cobra.Command{
	newListCommand,
	newReplayCommand,
	newTopCommand,
	newServeCommand,
	newDemoCommand,
	newDemoServiceCommand,
	newGuardCommand,
}

// usageError is an error in how the command was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errReported is the error of a command that has reported the reason on stderr.
var errReported = errors.New("failed")

// run runs the command and returns its exit code. All messages to stderr pass through package
// printable here, so that none can forget to escape names of files and programs. When ctx is
// done, it detaches,
// prints a summary and returns.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stderr = printable.Writer(stderr)
	root := newRootCommand(stdout, stderr)
	root.InitDefaultCompletionCmd()
	checkArgs(root)
	registerAll(root, args)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage usageError
	var interrupted *interruption
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		report(stderr, err, "")
		fmt.Fprintln(stderr, "Try 'sdttrace --help'.")
		return exitUsage
	case !errors.Is(err, errReported):
		report(stderr, err, remedy(err, args))
	}
	if errors.As(err, &interrupted) {
		return exitSignal + int(interrupted.by)
	}
	return exitFailed
}

// report writes a line for each of the errors that are joined, and what helps behind the last.
func report(stderr io.Writer, err error, remedy string) {
	all := printable.Joined(err)
	for i, err := range all {
		if i < len(all)-1 {
			fmt.Fprintf(stderr, "sdttrace: %v\n", err)
		} else {
			fmt.Fprintf(stderr, "sdttrace: %v%s\n", err, remedy)
		}
	}
}

func newRootCommand(stdout, stderr io.Writer) *cobra.Command {
	root := newTraceCommand(stdout, stderr)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	for _, sub := range subcommands {
		root.AddCommand(sub(stdout, stderr))
	}
	return root
}

// checkArgs turns errors in the arguments of every command below c into errors of
// usage.
func checkArgs(c *cobra.Command) {
	for _, sub := range c.Commands() {
		if check := sub.Args; check != nil {
			sub.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return usageError{err}
				}
				return nil
			}
		}
		checkArgs(sub)
	}
}

// remedy returns the command that helps against err, as text to append to the
// error's.
func remedy(err error, args []string) string {
	var p *attach.PrivilegeError
	if !errors.As(err, &p) || len(p.Missing) == 0 {
		return ""
	}
	if os.Geteuid() == 0 {
		return "; root of this container or service has not all of root's: have what is missing added"
	}
	return "; run: " + privileged(args) + unprivileged(args)
}

// unprivileged returns how a command that may be, or start, a Go service is traced without
// privileges, as text to append to how it is traced with them; "" if there is no command, or
// if what is traced are functions.
func unprivileged(args []string) string {
	at := slices.Index(args, "--")
	if at < 0 {
		return ""
	}
	for _, a := range args[:at] {
		if strings.HasPrefix(a, "uprobe:") || strings.HasPrefix(a, "uretprobe:") || a == "--user" {
			return ""
		}
	}
	user := slices.Insert(slices.Clone(args), at, "--user")
	for i := range user {
		user[i] = quote(user[i])
	}
	return "; the probes that a Go service declares can be traced without: sdttrace " + strings.Join(user, " ")
}

// privileged returns the command that runs this one with privileges. It does not
// name a program that "go run" built, which is gone when the user reads it.
func privileged(args []string) string {
	command := "sudo "
	exe, err := os.Executable()
	switch {
	case err != nil:
		command += "sdttrace"
	case strings.Contains(exe, string(filepath.Separator)+"go-build"):
		command = "go build -o sdttrace ./cmd/sdttrace && sudo ./sdttrace"
	default:
		command += quote(exe)
	}
	for _, a := range args {
		command += " " + quote(a)
	}
	return command
}

// quote quotes s so that a shell takes it as one word.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=+,./:@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
