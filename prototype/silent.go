package prototype

import (
	"path"
	"strings"
)

// silence is why probes may not fire.
type silence struct {
	provider, name string // name may have '*'
	file           string // the base name of files in which they fire seldom, which may have '*'; empty where they may never
	why            string
}

// silent reads a line behind its first word: PROVIDER:NAME and, to the end, why.
func (p *parser) silent(line int) error {
	text := p.words()
	probes, why := cutWord(text)
	provider, name, ok := probesOf(probes)
	if !ok || why == "" {
		return p.fail(line, "want silent PROVIDER:NAME and why the probe may not fire, got %q", text)
	}
	p.table.silent = append(p.table.silent, silence{provider, name, "", why})
	return p.advance()
}

// note reads a line behind its first word: FILE, PROVIDER:NAME and, to the end, when the probe fires.
func (p *parser) note(line int) error {
	text := p.words()
	file, rest := cutWord(text)
	probes, why := cutWord(rest)
	provider, name, ok := probesOf(probes)
	if _, err := path.Match(file, ""); !ok || err != nil || why == "" {
		return p.fail(line, "want note FILE PROVIDER:NAME and when the probe fires, got %q", text)
	}
	p.table.silent = append(p.table.silent, silence{provider, name, file, why})
	return p.advance()
}

// words returns the rest of a line as text, and leaves its end as what comes next. A line
// without words has to be an error.
func (p *parser) words() string {
	if p.tok.text == "\n" {
		return ""
	}
	text, _, _ := strings.Cut(p.tok.text+p.rest, "\n")
	p.rest = p.rest[len(text)-len(p.tok.text):]
	return strings.TrimSpace(text)
}

// cutWord returns the first word of a text, and what follows it.
func cutWord(text string) (word, rest string) {
	if end := strings.IndexAny(text, " \t"); end >= 0 {
		return text[:end], strings.TrimSpace(text[end:])
	}
	return text, ""
}

// probesOf cuts PROVIDER:NAME, whose NAME may have '*'.
func probesOf(text string) (provider, name string, ok bool) {
	provider, name, ok = strings.Cut(text, ":")
	_, err := path.Match(name, "")
	return provider, name, ok && isName(provider) && name != "" && err == nil
}

// Silent returns what is known of why a probe may never fire, such as an option that its program
// needs, "" for nothing.
func (t *Table) Silent(provider, name string) string {
	return t.silence(provider, name, func(file string) bool { return file == "" })
}

// Note returns what is known of when a probe of a file fires if that is not as often as its name
// says, "" for nothing.
func (t *Table) Note(file, provider, name string) string {
	return t.silence(provider, name, func(pattern string) bool {
		ok, _ := path.Match(pattern, path.Base(file))
		return ok
	})
}

func (t *Table) silence(provider, name string, of func(file string) bool) string {
	for ; t != nil; t = t.over {
		for _, s := range t.of(provider).silent {
			if ok, _ := path.Match(s.name, name); ok && s.provider == provider && of(s.file) {
				return s.why
			}
		}
	}
	return ""
}
