package main

import (
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/internal/grammar"
)

// topics are the pages of "sdttrace help TOPIC", in the order in which they are listed. The first
// line of a page says what it is about.
//
//go:embed help/*.txt
var pages embed.FS

var topics = []string{"probes", "conditions", "arguments", "stacks", "recordings", "privileges", "output", "cost"}

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
			return usageError{fmt.Errorf("there is no help about %q: the topics are %s", args[0], strings.Join(topics, ", "))}
		},
	}
	for _, name := range topics {
		about, text := topic(name)
		help.AddCommand(&cobra.Command{
			Use: name, Short: about, Long: about + "\n\n" + strings.TrimSpace(text), DisableFlagsInUseLine: true,
			Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprintf(stdout, "%s\n\n%s", about, text)
				return output.Error(err)
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
  sdttrace 'python:*' -- python3 script.py                of a command, from its start
  sdttrace count --by path myapp:request_done             by an argument; also hist ms, stats ms
  sdttrace latency db:start db:done --slower 50ms         the slow ones, with their arguments
  sdttrace record -o day.usdt 'myapp:*'                   and then any verb --from day.usdt

sdttrace VERB --help     its flags and examples
sdttrace help TOPIC      ` + strings.Join(topics[:6], ", ") + `,
                         ` + strings.Join(topics[6:], ", ") + `
Besides: demo, which traces a small web shop; bench, what probes cost here; completion; --version
`)
	_, err := io.WriteString(w, b.String())
	return err
}

// printHelp prints the help of a verb: examples first, then its own flags, and in two columns
// the flags that it shares.
func printHelp(w io.Writer, cmd *cobra.Command) {
	use := cmd.CommandPath() + strings.TrimPrefix(cmd.Use, cmd.Name())
	if cmd.Flags().Lookup("rescan") != nil { // it traces
		use += " [flags] [-- CMD ARG...]"
	}
	fmt.Fprintln(w, use)
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples\n%s\n", cmd.Example)
	}
	fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(cmd.Long))
	for i, c := range cmd.Commands() {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "  %-12s %s\n", c.Name(), c.Short)
	}
	shared, cells := map[string]bool{"help": true}, []string{}
	for _, word := range commonWords {
		shared[word.name] = true
		if flag := cmd.Flags().Lookup(word.name); flag != nil {
			gloss := word.gloss
			if flag.Usage != words[word.name].usage { // the verb's own
				gloss = flag.Usage
			}
			cells = append(cells, fmt.Sprintf("%-20s %s", written(flag), gloss))
		}
	}
	title := "\nFlags\n"
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !shared[flag.Name] && !flag.Hidden {
			fmt.Fprintf(w, "%s  %-22s %s%s\n", title, written(flag), flag.Usage, defaultOf(flag))
			title = ""
		}
	})
	for i := 0; i < len(cells); i += 2 {
		if i == 0 {
			fmt.Fprint(w, "\nCommon flags\n")
		}
		line := "  " + cells[i]
		if i+1 < len(cells) {
			line = fmt.Sprintf("%-51s %s", line, cells[i+1])
		}
		fmt.Fprintln(w, line)
	}
}

// written returns a flag as a user writes it.
func written(flag *pflag.Flag) string {
	name := "--" + flag.Name
	if flag.Shorthand != "" {
		name = "-" + flag.Shorthand
		if flag.Name == "quiet" || flag.Name == "verbose" {
			name += ", --" + flag.Name
		}
	}
	switch value := words[flag.Name].value; {
	case value == "":
		return name
	case strings.HasPrefix(value, "["):
		return name + value
	default:
		return name + " " + value
	}
}

// defaultOf returns the default of a flag as text to append, if it says something.
func defaultOf(flag *pflag.Flag) string {
	switch flag.DefValue {
	case "", "0", "0s", "false", "[]":
		return ""
	}
	return " (default " + flag.DefValue + ")"
}
