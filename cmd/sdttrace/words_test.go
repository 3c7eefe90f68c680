package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
)

// TestMoved checks that what is written now in place of an earlier flag or verb is a command.
func TestMoved(t *testing.T) {
	values := strings.NewReplacer("[VERB] ", "", "FILE|PID|DIR", "x", "DIR/PID", "x/1", "[PROBE...]", "p:n", "PROBE...", "p:n", "START END", "p:a p:b",
		"LO,HI,STEP", "0,2,1", "ARG", "a", "EXPR", "a==1", "FILE", "x", "SIZE", "1M", " D ", " 1s ")
	for old, now := range word.Moved {
		args := strings.Fields(values.Replace(now))[1:]
		if err := parses(args); err != nil {
			t.Errorf("%s: sdttrace %q: %v", old, args, err)
		}
		if isVerb := !strings.HasPrefix(old, "--"); isVerb {
			continue
		}
		if flag := newRootCommand(io.Discard, io.Discard).Flags().Lookup(strings.TrimPrefix(old, "--")); flag != nil {
			t.Errorf("%s is a flag of print", old)
		}
	}
}

// TestWords checks that each word is a flag of a verb, and that help has it once.
func TestWords(t *testing.T) {
	var help strings.Builder
	verbsWith := map[string][]string{}
	for _, v := range verbs {
		cmd := v.newCommand(io.Discard, io.Discard)
		help.Reset()
		word.PrintHelp(&help, cmd, 0)
		for name := range word.All {
			flag := cmd.Flags().Lookup(name)
			if flag == nil {
				continue
			}
			verbsWith[name] = append(verbsWith[name], v.name())
			listed := strings.Count(help.String(), "  "+word.Written(flag)+" ")
			if want := map[bool]int{true: 0, false: 1}[flag.Hidden]; listed != want {
				t.Errorf("the help of %s lists %s %d times, want %d", v.name(), word.Written(flag), listed, want)
			}
		}
	}
	for name := range word.All {
		if len(verbsWith[name]) == 0 {
			t.Errorf("no verb has --%s", name)
		}
	}
	for _, name := range []string{"pid", "children", "cgroup", "container", "pod", "comm", "exe", "user", "rescan", "force", "where", "duration", "quiet", "verbose"} {
		for _, v := range verbs {
			if v != &listVerb && !slices.Contains(verbsWith[name], v.name()) { // which traces nothing
				t.Errorf("%s has no --%s", v.name(), name)
			}
		}
	}
}

// TestHelpOnTerminals reads all pages of help on terminals of 60, 80 and 120 columns: lines fit, except
// words that are wider, and no word is lost.
func TestHelpOnTerminals(t *testing.T) {
	pages := map[string]func(columns int) string{"": func(int) string {
		var b strings.Builder
		overview(&b)
		return b.String()
	}}
	for _, v := range verbs {
		pages[v.name()] = func(columns int) string {
			var b strings.Builder
			word.PrintHelp(&b, v.newCommand(io.Discard, io.Discard), columns)
			return b.String()
		}
	}
	for _, name := range topics {
		about, text := topic(name)
		pages[name] = func(int) string { return about + "\n\n" + text }
	}
	for name, page := range pages {
		for _, columns := range []int{60, 80, 120} {
			fits := screen.Fold(screen.Join(page(columns)), columns, 0)
			words := func(text string) []string { // without the sign of what is said of an example
				return slices.DeleteFunc(strings.Fields(text), func(word string) bool { return word == "#" })
			}
			if got, want := words(fits), words(page(columns)); !slices.Equal(got, want) {
				t.Errorf("%s, %d columns: the words are others", name, columns)
			}
			for line := range strings.Lines(fits) {
				if width := utf8.RuneCountInString(line) - 1; width > columns {
					t.Errorf("%s: a line has %d columns of %d: %s", name, width, columns, line)
				}
			}
		}
	}
}
