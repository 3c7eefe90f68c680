package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/recording"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/printable"
)

// verb is a question that sdttrace answers.
type verb struct {
	use      string // without flags, e.g. "stats ARG PROBE..."
	short    string
	about    string
	examples string
	does     func(f *traceFlags) deed
}

// deed is what a verb does with what it traces, see [defaults].
type deed interface {
	// words registers the verb's flags: its own ones first.
	words(set word.Set)
	// take takes the words in front of the probes.
	take(args []string) (probes []string, err error)
	// check returns an error of usage for what does not go together.
	check(probes []string) error
	// traces returns the probes that are attached to, beside the named ones.
	traces(probes []string) []string
	// every is how often groups are read; 0 if events are not added up or once.
	every() time.Duration
	// writes reports whether the deed opens its output itself.
	writes() bool
	// open attaches, and returns what shows the events until they end.
	open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error)
	// conclude says on stderr what became of the events, beside what it says of all.
	conclude(s session.Session, stderr io.Writer) error
}

// alone is a deed that does something else than tracing, at times.
type alone interface {
	run(ctx context.Context, probes []string, stdout, stderr io.Writer) error
}

// looking is a deed that takes providers without probes, for a first look at them.
type looking interface {
	// look returns the words with probes in the place of providers.
	look(ctx context.Context, args []string) ([]string, error)
}

// showing is where a deed shows events.
type showing struct {
	cancel context.CancelFunc // ends tracing
	stdout io.Writer          // or the file that --output names
	stderr io.Writer
	screen *screen.Screen // nil unless groups are drawn in place
}

// name returns the word that selects the verb.
func (v *verb) name() string {
	name, _, _ := strings.Cut(v.use, " ")
	return name
}

// newCommand returns the command of a verb.
func (v *verb) newCommand(stdout, stderr io.Writer) *cobra.Command {
	f := newTraceFlags()
	d := v.does(f)
	cmd := &cobra.Command{
		Use: v.use, Short: v.short, Long: v.about, Example: v.examples,
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs, // which RunE checks
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return completeWords(v, cmd, args, prefix)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			// Recordings may be on a file system that does not answer.
			f.prepared = interrupt.Of(cmd.Context()).Prepare(printable.Writer(stderr))
			defer f.prepared()
			args, err := f.parsed(cmd.Flags(), args)
			if err == nil {
				err = f.checkGiven()
			}
			if err != nil {
				return usageError{err}
			}
			if len(f.from) > 0 {
				if f.replayed, args, err = recording.Find(f.from, args, stderr); err != nil {
					return err
				}
			}
			if first, ok := d.(looking); ok {
				if args, err = first.look(cmd.Context(), args); err != nil {
					return err
				}
			}
			probes, err := f.probes(d, args)
			if err == nil {
				err = f.checkSuffix(v.name())
			}
			if err != nil {
				return usageError{err}
			}
			if other, ok := d.(alone); ok {
				f.prepared()
				return other.run(cmd.Context(), probes, stdout, stderr)
			}
			return f.trace(cmd.Context(), d, probes, stdout, stderr)
		},
	}
	cmd.Flags().SortFlags = false
	d.words(word.Set{FlagSet: cmd.Flags()})
	return cmd
}

// parsed takes flags that have been parsed, and the command behind "--". It returns the other
// words.
func (f *traceFlags) parsed(flags *pflag.FlagSet, args []string) ([]string, error) {
	f.flags, f.given = flags, flags.Changed
	if dash := flags.ArgsLenAtDash(); dash >= 0 {
		args, f.command = args[:dash], args[dash:]
		if len(f.command) == 0 {
			return nil, errors.New("name a command after --")
		}
		if f.command[0] == "" {
			return nil, errors.New("the name of the command after -- is empty")
		}
	}
	if f.base != "" {
		return f.compared(args)
	}
	return args, nil
}

// compared takes the recordings of --diff: its value and, unless --from names it, the next word.
func (f *traceFlags) compared(args []string) ([]string, error) {
	if len(f.from) == 0 && len(args) > 0 {
		f.from, args = args[:1], args[1:]
	}
	if len(f.from) != 1 {
		return nil, errors.New("--diff compares two recordings: --diff BEFORE AFTER")
	}
	after, err := recording.Parse(f.from[0])
	if err != nil {
		return nil, err
	}
	f.from, f.part = []string{after.File}, after.Part
	f.before, err = recording.Parse(f.base)
	return args, err
}

// probes returns the probes that a verb is to trace. Errors are of usage.
func (f *traceFlags) probes(d deed, args []string) ([]string, error) {
	probes, err := d.take(args)
	if err != nil {
		return nil, err
	}
	if len(probes) == 0 && f.replayed != nil && len(d.traces(nil)) == 0 {
		probes = everything
	}
	if err := d.check(probes); err != nil {
		return nil, err
	}
	if _, ok := d.(alone); !ok && len(d.traces(probes)) == 0 {
		return nil, errors.New("name at least one PROBE to trace: [PATH:]PROVIDER:NAME; sdttrace top takes all")
	}
	return probes, nil
}

// defaults is what most deeds do.
type defaults struct{}

func (defaults) take(args []string) ([]string, error)          { return args, nil }
func (defaults) check([]string) error                          { return nil }
func (defaults) traces(probes []string) []string               { return probes }
func (defaults) every() time.Duration                          { return 0 }
func (defaults) writes() bool                                  { return false }
func (defaults) conclude(s session.Session, w io.Writer) error { return nil }

// everything is named where nothing is.
var everything = []string{"*:*"}

// takeOne takes a word in front of the probes, which is no probe itself.
func takeOne(args []string, what string) (word string, probes []string, err error) {
	switch {
	case len(args) == 0:
		return "", nil, fmt.Errorf("name %s, and then the PROBEs", what)
	case args[0] == "":
		return "", nil, fmt.Errorf("there is nothing in %s", what)
	}
	return args[0], args[1:], nil
}
