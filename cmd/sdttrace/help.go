package main

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/grammar"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/spelling"
)

// topics are the pages of "sdttrace help TOPIC", in the order in which they are listed. The first
// line of a page says what it is about.
//
//go:embed help/*.txt
var pages embed.FS

var topics = []string{"probes", "kernel", "conditions", "arguments", "stacks", "recordings", "privileges", "output", "cost"}

// taskKeys are the names for what is known of the task that fires; pages have TASKKEYS for them.
var taskKeys = strings.Join(grammar.TaskKeys, ", ")

// topic returns the page of a topic, and what it is about.
func topic(name string) (about, text string) {
	page, err := pages.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // a topic without a page
	}
	about, text, _ = strings.Cut(strings.ReplaceAll(string(page), "TASKKEYS", taskKeys), "\n\n")
	return about, text
}

// newHelpCommand returns the command that prints help of verbs and topics.
func newHelpCommand(stdout io.Writer) *cobra.Command {
	help := &cobra.Command{
		Use:   "help [VERB|TOPIC]",
		Short: "Print help of a verb or about a topic",
		Long:  "help prints the help of a verb, or a page about a topic: " + strings.Join(topics, ", ") + ".",
		Args:  cobra.ArbitraryArgs, // which RunE checks
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
			for _, v := range verbs {
				names = append(names, v.name())
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Root().Help()
			}
			for _, c := range cmd.Root().Commands() {
				if c.Name() == args[0] && !c.Hidden {
					return c.Help()
				}
			}
			if args[0] == "topics" {
				return output.Error(helpTo(stdout, strings.Join(topics, "\n")+"\n"))
			}
			return usageError{fmt.Errorf("there is no help about %q: the topics are %s%s", args[0], strings.Join(topics, ", "), spelling.Nearly(args[0], subjects(cmd.Root())))}
		},
	}
	for _, name := range topics {
		about, text := topic(name)
		help.AddCommand(&cobra.Command{
			Use: name, Short: about, Long: about + "\n\n" + strings.TrimSpace(text), DisableFlagsInUseLine: true,
			Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				return output.Error(helpTo(stdout, about+"\n\n"+text))
			},
		})
	}
	return help
}

// overview is the help of sdttrace itself.
func overview(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`sdttrace traces USDT probes and functions of running programs, also ones that start later.

  sdttrace [VERB] PROBE... [flags] [-- CMD ARG...]     PROBE is [PATH:]PROVIDER:NAME, with *
`)
	for _, group := range verbGroups {
		fmt.Fprintf(&b, "\n%s\n", group.title)
		for _, v := range group.verbs {
			fmt.Fprintf(&b, "  %-24s %s\n", v.use, v.short)
		}
	}
	b.WriteString(`
Examples
  sdttrace list -p 4711                                   which probes a process has
  sdttrace -p 4711 --where 'status >= 500' 'myapp:*'      print events, here some of them
  sdttrace --wait 'myapp:*'                               of a service that starts later
  sdttrace hist ms myapp:request_done -- ./myapp          of a command, from its start; or stats ms
  sdttrace count --by filename python:function__return    by an argument, here calls of Python by file
  sdttrace latency db:start db:done --slower 50ms         the slow ones, with their arguments
  sdttrace --stack=dwarf libstdcxx:throw                  from where: here C++ exceptions
  sdttrace --args n,r.path uprobe:./srv:srv.c:42          functions; lines, with their variables
  sdttrace page postgresql                                slowest statements, who waits for locks
  sdttrace count -v 'myapp:*'                             and what tracing costs the programs
  sdttrace record -o day.usdt 'myapp:*'                   and then any verb --from day.usdt

sdttrace VERB --help     its flags and examples
sdttrace help TOPIC      ` + strings.Join(topics, ", ") + `
Besides: demo, which traces a small web shop; bench, what probes cost here;
otel, the same by a collector; completion; --version
`)
	return helpTo(w, b.String())
}

// helpTo writes help, on a terminal so that it fits.
func helpTo(w io.Writer, help string) error {
	if columns := screen.Width(w); columns > 0 {
		help = screen.Fold(screen.Join(help), columns, 0)
	}
	_, err := io.WriteString(w, help)
	return err
}

// noVerb returns the error for a first word that is neither a verb nor a probe.
func noVerb(root *cobra.Command, first string) error {
	if now := cmp.Or(word.Moved[first], word.Moved["--"+first]); now != "" {
		return fmt.Errorf("%s is no verb: write %s", first, now)
	}
	if nearest := spelling.Nearest(first, subjects(root)[len(topics):]); nearest != "" {
		return fmt.Errorf("%q is no verb, and a PROBE is [PATH:]PROVIDER:NAME; the nearest verb is %s", first, nearest)
	}
	return fmt.Errorf("%q is no verb, and a PROBE is [PATH:]PROVIDER:NAME: all probes of a provider are %s", first, selector.Shell(first+":*"))
}

// subjects returns the words that sdttrace, and sdttrace help, know: topics, and then verbs.
func subjects(root *cobra.Command) []string {
	names := slices.Clone(topics)
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}
