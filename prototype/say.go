package prototype

import (
	"os"
	"path"
	"slices"
	"strings"
)

// Saying is a text that says what several arguments of a probe mean.
type Saying struct {
	Name string // of the text, as arguments have names
	// When and Is say for which events: the argument When is Is, by its name in an enumeration.
	// Both are empty for all.
	When, Is string
	// Text has ${ARG} where the text of an argument belongs, and ${NAME:ARG} for that of
	// the last event of the provider's probe NAME in the same process.
	Text string
}

type saying struct {
	provider, name string // name may have '*'
	Saying
}

// say reads a line behind its first word: PROVIDER:NAME, a name, ARG=VALUE if need be, and text.
func (p *parser) say(line int) error {
	text := p.words()
	probes, rest := cutWord(text)
	provider, name, ok := probesOf(probes)
	s := saying{provider: provider, name: name}
	s.Name, s.Text = cutWord(rest)
	if when, rest := cutWord(s.Text); !strings.Contains(when, "$") {
		if arg, is, found := strings.Cut(when, "="); found {
			s.When, s.Is, s.Text = arg, is, rest
		}
	}
	if !ok || !isName(s.Name) || s.Text == "" || s.When != "" && !isName(s.When) {
		return p.fail(line, "want say PROVIDER:NAME, a name, ARG=VALUE or nothing, and text with ${ARG}, got %q", text)
	}
	p.table.says = append(p.table.says, s)
	return p.advance()
}

// Sayings returns what says the meaning of a probe's arguments.
func (t *Table) Sayings(provider, name string) (all []Saying) {
	for ; t != nil && len(all) == 0; t = t.over {
		for _, s := range t.of(provider).says {
			if ok, _ := path.Match(s.name, name); ok && s.provider == provider {
				all = append(all, s.Saying)
			}
		}
	}
	return all
}

// Said returns the arguments of a probe that sayings of other probes of the provider need.
func (t *Table) Said(provider, name string) (args []string) {
	for ; t != nil && len(args) == 0; t = t.over {
		for _, s := range t.of(provider).says {
			for _, need := range s.Needs() {
				if probe, arg, ok := strings.Cut(need, ":"); ok && probe == name && s.provider == provider && !slices.Contains(args, arg) {
					args = append(args, arg)
				}
			}
		}
	}
	return args
}

// Needs returns what is between the braces of the text: ARG, or NAME:ARG.
func (s *Saying) Needs() (all []string) {
	s.Expand(func(need string) string { all = append(all, need); return "" })
	return all
}

// Expand returns the text with what of returns for what it needs.
func (s *Saying) Expand(of func(need string) string) string { return os.Expand(s.Text, of) }
