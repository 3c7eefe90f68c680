package prototype

import (
	"path"
	"strings"
)

// danger is why two probes of a file must not be traced at the same time.
type danger struct {
	provider, name, with string
	file                 string // its base name, which may have '*'
	why                  string
}

// danger reads a line behind its first word: FILE, PROVIDER:NAME, NAME and, to the end, why.
func (p *parser) danger(line int) error {
	text := p.words()
	fields := strings.Fields(text)
	if len(fields) < 4 {
		return p.fail(line, "want danger FILE PROVIDER:NAME NAME and why both must not be traced, got %q", text)
	}
	provider, name, ok := probesOf(fields[1])
	if _, err := path.Match(fields[0], ""); !ok || err != nil {
		return p.fail(line, "want danger FILE PROVIDER:NAME NAME and why both must not be traced, got %q", text)
	}
	p.table.dangers = append(p.table.dangers, danger{provider, name, fields[2], fields[0], strings.Join(fields[3:], " ")})
	return p.advance()
}

// Danger returns the name of another probe of the provider beside which a probe in a file must not
// be traced, and why; "" if there is none.
func (t *Table) Danger(file, provider, name string) (with, why string) {
	for ; t != nil; t = t.over {
		for _, d := range t.of(provider).dangers {
			if ok, _ := path.Match(d.file, path.Base(file)); ok && d.provider == provider && d.name == name {
				return d.with, d.why
			}
		}
	}
	return "", ""
}
