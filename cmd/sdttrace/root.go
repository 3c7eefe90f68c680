package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/command"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/shell"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/version"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1 // also: nothing matched; a command that fails has its own code
	exitUsage  = 2
	exitSignal = 128 // plus the signal that came before there was anything to show
)

// verbGroups are the verbs, as the overview lists them.
var verbGroups = []struct {
	title string
	verbs []*verb
}{
	{"See what happens", []*verb{&printVerb, &snapshotVerb, &topVerb, &listVerb, &serveVerb}},
	{"Add up", []*verb{&countVerb, &statsVerb, &histVerb, &latencyVerb, &profileVerb}},
	{"Draw and keep", []*verb{&timelineVerb, &pageVerb, &recordVerb}},
}

// verbs are all of them.
var verbs = func() (all []*verb) {
	for _, group := range verbGroups {
		all = append(all, group.verbs...)
	}
	return all
}()

// others are the commands that trace nothing a user names.
var others = []func(stdout, stderr io.Writer) *cobra.Command{
	newDemoCommand,
	newBenchCommand,
	newOtelCommand,
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
// done, it detaches, prints a summary and returns.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stderr = printable.Writer(stderr)
	root := newRootCommand(stdout, stderr)
	root.InitDefaultCompletionCmd()
	checkArgs(root)
	registerAll(root, args)
	root.SetArgs(args)
	if len(args) == 0 {
		overview(stdout)
		return exitUsage
	}
	called, err := root.ExecuteContextC(ctx)
	var usage usageError
	var interrupted *interrupt.Cause
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		report(screen.Folded(stderr, stderr), err, "")
		fmt.Fprintf(stderr, "Try '%s --help'.\n", called.CommandPath())
		return exitUsage
	case !errors.Is(err, errReported):
		report(screen.Folded(stderr, stderr), err, remedy(err, args))
	}
	if errors.As(err, &interrupted) {
		return exitSignal + int(interrupted.By)
	}
	return command.Code(err, exitFailed)
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

// newRootCommand returns sdttrace, which prints probes if no verb is named.
func newRootCommand(stdout, stderr io.Writer) *cobra.Command {
	root := printVerb.newCommand(stdout, stderr)
	root.Use, root.Short = "sdttrace [VERB] PROBE... [flags] [-- CMD ARG...]", "Trace USDT probes"
	root.Long = `sdttrace traces USDT probes and functions of running programs, also ones that start later.
It prints events if no verb is named, as sdttrace print does. The pages of its verbs say what
else it does with them, the pages of sdttrace help what probes, conditions and arguments are.`
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	root.Args = func(cmd *cobra.Command, args []string) error {
		dash := cmd.ArgsLenAtDash()
		if len(args) > 0 && dash != 0 && !strings.Contains(args[0], ":") && !cmd.Flags().Changed("from") && !(cmd.Flags().Changed("stack") && flagvalue.IsStack(args[0])) {
			return usageError{noVerb(root, args[0])}
		}
		return nil
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if cmd == root {
			overview(stdout)
			return
		}
		var help strings.Builder
		word.PrintHelp(&help, cmd, screen.Width(stdout))
		helpTo(stdout, help.String())
	})
	root.Version = version.String()
	root.SetVersionTemplate("sdttrace {{.Version}}\n")
	root.Flags().Bool("version", false, "print the version and exit")
	for _, v := range verbs {
		root.AddCommand(v.newCommand(stdout, stderr))
	}
	for _, other := range others {
		root.AddCommand(other(stdout, stderr))
	}
	help := newHelpCommand(stdout)
	root.SetHelpCommand(help)
	root.AddCommand(help)
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
		return "; root of this container or service has not all of root's: run it outside, or have what is missing added"
	}
	return "; run: " + shell.Privileged(args) + shell.Unprivileged(args)
}
