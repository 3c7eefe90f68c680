package word

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// twoColumns is how wide a terminal is that has two flags beside each other.
const twoColumns = 100

// PrintHelp prints the help of a verb: examples first, then its own flags and the flags that it
// shares, the latter in two columns unless the terminal is known to be narrower.
func PrintHelp(out io.Writer, cmd *cobra.Command, columns int) {
	use := cmd.CommandPath() + strings.TrimPrefix(cmd.Use, cmd.Name())
	if cmd.Flags().Lookup("rescan") != nil { // it traces
		use += " [flags] [-- CMD ARG...]"
	}
	fmt.Fprintln(out, use)
	if cmd.Example != "" {
		fmt.Fprintf(out, "\nExamples\n%s\n", cmd.Example)
	}
	fmt.Fprintf(out, "\n%s\n", strings.TrimSpace(cmd.Long))
	for i, c := range cmd.Commands() {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "  %-12s %s\n", c.Name(), c.Short)
	}
	shared, cells := map[string]bool{"help": true}, []string{}
	for _, w := range Common {
		shared[w.Name] = true
		if flag := cmd.Flags().Lookup(w.Name); flag != nil {
			gloss := w.gloss
			if flag.Usage != All[w.Name].usage { // the verb's own
				gloss = flag.Usage
			}
			cells = append(cells, fmt.Sprintf("%-20s %s", Written(flag), gloss))
		}
	}
	title := "\nFlags\n"
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !shared[flag.Name] && !flag.Hidden {
			fmt.Fprintf(out, "%s  %-22s %s%s\n", title, Written(flag), flag.Usage, defaultOf(flag))
			title = ""
		}
	})
	for i := 0; i < len(cells); i += 2 {
		if i == 0 {
			fmt.Fprint(out, "\nCommon flags\n")
		}
		line := "  " + cells[i]
		if narrow := columns > 0 && columns < twoColumns; i+1 < len(cells) && narrow {
			line += "\n  " + cells[i+1]
		} else if i+1 < len(cells) {
			line = fmt.Sprintf("%-51s %s", line, cells[i+1])
		}
		fmt.Fprintln(out, line)
	}
}

// Written returns a flag as a user writes it.
func Written(flag *pflag.Flag) string {
	name := "--" + flag.Name
	if flag.Shorthand != "" {
		name = "-" + flag.Shorthand
		if flag.Name == "quiet" || flag.Name == "verbose" {
			name += ", --" + flag.Name
		}
	}
	switch value := All[flag.Name].value; {
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
