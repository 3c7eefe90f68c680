package receiver

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/selector"
)

// Interval is the least time between two deliveries, and Around the most events that a snapshot has
// before the one that it is of, or after.
const (
	Interval = 10 * time.Millisecond
	Around   = 10_000
)

// CheckText returns an error about a word that YAML cannot have.
func CheckText(words []string) error {
	for _, word := range words {
		if !utf8.ValidString(word) {
			return fmt.Errorf("%q is not UTF-8, as the receiver's file is", word)
		}
	}
	return nil
}

// Probe returns a selector that names the same in whatever directory the collector runs.
func Probe(text string) string {
	s, err := selector.Parse(text)
	if err != nil || !strings.Contains(s.Path, "/") || filepath.IsAbs(s.Path) {
		return text
	}
	here, err := os.Getwd()
	if err != nil {
		return text
	}
	return strings.Replace(text, s.Path, filepath.Join(selector.QuotePath(here), s.Path), 1)
}

// Probes returns selectors as [Probe] does.
func Probes(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, Probe(text))
	}
	return out
}

// Target returns the processes that are traced, without the braces around them.
func Target(t *attach.Target) string {
	var out []string
	add := func(name string, value any, given bool) {
		if given {
			out = append(out, name+": "+Quoted(value))
		}
	}
	if len(t.PIDs) > 0 {
		out = append(out, "pids: "+strings.ReplaceAll(fmt.Sprint(t.PIDs), " ", ", "))
	}
	add("children", t.Children, t.Children)
	add("comm", t.Comm, t.Comm != "")
	if exe, err := filepath.Abs(t.Exe); err == nil {
		add("exe", exe, t.Exe != "")
	}
	add("cgroup", t.Cgroup, t.Cgroup != "")
	add("container", t.Container, t.Container != "")
	add("pod", t.Pod, t.Pod != "")
	return strings.Join(out, ", ")
}

// Quoted returns a text, a list of texts or a number as YAML has it; the collector takes a $ for a variable
// unless it is doubled.
func Quoted(value any) string {
	switch v := value.(type) {
	case string:
		return quoted(v)
	case []string:
		var all []string
		for _, text := range v {
			all = append(all, quoted(text))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	return fmt.Sprint(value)
}

// quoted returns a double-quoted scalar: https://yaml.org/spec/1.2.2/#57-escaped-characters. Half a pair
// of surrogates, as JSON has them, is no character there.
func quoted(s string) string {
	var out []byte
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '$':
			out = append(out, "$$"...)
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\t':
			out = append(out, `\t`...)
		case strconv.IsPrint(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			out = fmt.Appendf(out, `\U%08x`, r)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return `"` + string(out) + `"`
}
