package prototype

import (
	"path"
	"strings"
)

// silence is why probes may not fire.
type silence struct {
	provider, name string // name may have '*'
	why            string
}

// silent reads a line behind its first word: PROVIDER:NAME and, to the end, why.
func (p *parser) silent(line int) error {
	text, _, _ := strings.Cut(p.tok.text+p.rest, "\n")
	if p.tok.text == "\n" {
		text = ""
	}
	probes, why := text, ""
	if end := strings.IndexAny(text, " \t"); end >= 0 {
		probes, why = text[:end], text[end:]
	}
	provider, name, ok := strings.Cut(probes, ":")
	why = strings.TrimSpace(why)
	_, err := path.Match(name, "")
	if !ok || !isName(provider) || name == "" || err != nil || why == "" {
		return p.fail(line, "want silent PROVIDER:NAME and why the probe may not fire, got %q", text)
	}
	p.table.silent = append(p.table.silent, silence{provider, name, why})
	p.rest = p.rest[len(text)-len(p.tok.text):]
	return p.advance()
}

// Silent returns what is known of why a probe may never fire, such as an option that its program
// needs, "" for nothing.
func (t *Table) Silent(provider, name string) string {
	for ; t != nil; t = t.over {
		for _, s := range t.of(provider).silent {
			if ok, _ := path.Match(s.name, name); ok && s.provider == provider {
				return s.why
			}
		}
	}
	return ""
}
