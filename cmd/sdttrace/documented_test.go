package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/list"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/look"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/recording"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/prototype"
)

// TestHelpFits checks that the help of each verb fits a screen, and has few flags.
func TestHelpFits(t *testing.T) {
	const wide, ownFlags = 110, 15
	check := func(name, text string, most int) {
		if n := strings.Count(text, "\n"); n > most {
			t.Errorf("the help of %s has %d lines, want at most %d", name, n, most)
		}
		for line := range strings.Lines(text) {
			if len([]rune(line)) > wide+1 {
				t.Errorf("the help of %s has a line of more than %d characters: %s", name, wide, line)
			}
		}
	}
	var b strings.Builder
	overview(&b)
	check("sdttrace", b.String(), 40)
	common := map[string]bool{}
	for _, w := range word.Common {
		common[w.Name] = true
	}
	for _, v := range verbs {
		cmd := v.newCommand(io.Discard, io.Discard)
		var b strings.Builder
		word.PrintHelp(&b, cmd, 0)
		check(v.name(), b.String(), 45)
		if examples := strings.Index(b.String(), "\nExamples\n"); examples < 0 || examples > strings.Index(b.String(), "lags\n") {
			t.Errorf("the help of %s does not begin with examples", v.name())
		}
		own := 0
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if !common[flag.Name] && !flag.Hidden {
				own++
			}
		})
		if own > ownFlags {
			t.Errorf("%s has %d flags of its own, want at most %d", v.name(), own, ownFlags)
		}
	}
	for _, name := range topics {
		_, text := topic(name)
		check("help "+name, text, 90)
	}
}

// commandLines matches a command line of sdttrace in a document: behind a prompt or in a line of its
// own, or as code in prose.
var commandLines = regexp.MustCompile("(?m)(?:^[ \t/]*(?:\\$ )?(?:sudo )?|`)(?:\\./)?sdttrace (.*)$")

// TestDocumentedCommands checks that the command lines in documents, comments and help are those
// of the commands that there are.
func TestDocumentedCommands(t *testing.T) {
	texts := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/why/*.md", "examples/*/*.txt", "examples/*/*.go", "examples/*/*/*.go", "contrib/*/doc.go", "provider/example_test.go"} {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[file] = string(text)
		}
	}
	var b strings.Builder
	overview(&b)
	texts["the overview"] = b.String()
	for _, v := range verbs {
		texts["the help of "+v.name()] = v.examples
	}
	for _, name := range topics {
		_, texts["help "+name] = topic(name)
	}
	n := 0
	for name, text := range texts {
		for _, m := range commandLines.FindAllStringSubmatch(text, -1) {
			line := m[1]
			if strings.HasPrefix(m[0], "`") {
				if line, _, _ = strings.Cut(line, "`"); !strings.Contains(line, ":") {
					continue // the name of a verb or a flag
				}
			}
			args := shellWords(placeholders.Replace(line))
			if len(args) == 0 || strings.HasPrefix(args[0], "[") || !strings.HasPrefix(args[0], "-") && !strings.Contains(args[0], ":") && !isCommand(args[0]) {
				continue // prose, or a synopsis
			}
			n++
			for i, arg := range args { // a provider, or a start alone, which may not run here
				if looks := prototype.Known().Looks(arg); len(looks) > 0 {
					args = slices.Replace(args, i, i+1, ends(t, looks[0])...)
					break
				}
				alone := i == len(args)-1 || !strings.Contains(args[i+1], ":")
				if l := prototype.Known().Pair(arg, ""); args[0] == "latency" && i == 1 && alone && l != nil {
					args = slices.Replace(args, i, i+1, ends(t, *l)...)
					break
				}
			}
			if err := parses(args); err != nil {
				t.Errorf("%s: sdttrace %s: %v", name, line, err)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d commands were found", n)
	}
}

// isCommand reports whether a name is a verb or another command, of today or of earlier.
func isCommand(name string) bool {
	if word.Moved[name] != "" {
		return true
	}
	for _, c := range newRootCommand(io.Discard, io.Discard).Commands() {
		if c.Name() == name {
			return true
		}
	}
	return false
}

// placeholders stand for numbers, and what is not on this machine.
var placeholders = strings.NewReplacer("$PID", "1", "PID", "1", "$!", "1", "--cgroup system.slice/myapp.service", "")

// shellWords returns the words of a command line up to a comment, a remark in help or the next
// command.
func shellWords(line string) (words []string) {
	var word strings.Builder
	begun, quote, blanks := false, rune(0), 0
	for _, c := range line {
		switch {
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '|' || c == '>' || c == ';' || c == '&' || c == '#' && !begun || blanks >= 2 && c != ' '):
			return words
		case quote == 0 && c == ' ':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
			blanks++
			continue
		default:
			begun = true
			word.WriteRune(c)
		}
		blanks = 0
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}

// parses returns why a command line is wrong, as far as that can be seen without doing it.
func parses(args []string) error {
	root := newRootCommand(io.Discard, io.Discard)
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	v := &printVerb
	for _, other := range verbs {
		if cmd != root && other.name() == cmd.Name() {
			v = other
		}
	}
	if cmd != root && v.name() != cmd.Name() { // help, demo and the like
		return nil
	}
	f := newTraceFlags()
	d := v.does(f)
	flags := pflag.NewFlagSet(v.name(), pflag.ContinueOnError)
	flags.Bool("version", false, "")
	flags.BoolP("help", "h", false, "")
	d.words(word.Set{FlagSet: flags})
	if err := flags.Parse(rest); err != nil {
		return flagError(&cobra.Command{Use: v.name()}, err)
	}
	if flags.Changed("version") || flags.Changed("help") {
		return nil
	}
	left, err := f.parsed(flags, flags.Args())
	if err == nil {
		err = f.checkGiven()
	}
	if err != nil {
		return err
	}
	if len(f.from) > 0 {
		f.replayed = &recording.Set{Files: []string{"x"}}
	}
	probes, err := f.probes(d, left)
	if err != nil {
		return err
	}
	f.exe = "" // which need not exist here
	opts, err := f.options()
	if err != nil {
		return err
	}
	for _, probe := range d.traces(probes) {
		if v == &listVerb && list.IsFile(probe) {
			continue
		}
		if _, parseErr := selector.Parse(probe); parseErr != nil {
			err = errors.Join(err, parseErr)
		}
	}
	return errors.Join(err, f.events.Validate(opts))
}

// ends returns the probe, or the start and the end, of a look.
func ends(t *testing.T, l prototype.Look) []string {
	if l.Single() {
		return look.Probes(l)
	}
	s, err := session.ParseSpan(l.Span)
	if err != nil {
		t.Fatal(err)
	}
	return []string{s.Start, s.End}
}
