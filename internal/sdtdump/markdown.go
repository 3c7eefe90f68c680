package sdtdump

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

// markdownPrinter writes a table for a service's own documentation, in the Markdown
// of GitHub and others, with a row for each probe:
//
//	| Probe | Arguments | Semaphore |
//	| --- | --- | --- |
//	| `myapp:request_start` | `id uint64`, `path string` | yes |
//
// Sites of one probe whose arguments have the same types share a row. Rows are sorted
// and hold no address, so that the same probes give the same table.
type markdownPrinter struct {
	*options
	w    *bufio.Writer
	rows map[markdownRow]bool
}

// markdownRow is a row of the table. Its cells are escaped, except for the names.
type markdownRow struct {
	provider, name  string
	args, semaphore string
	function        string // with --symbols
}

func newMarkdown(w io.Writer, o *options) printer {
	return &markdownPrinter{options: o, w: bufio.NewWriter(w), rows: map[markdownRow]bool{}}
}

func (m *markdownPrinter) probe(p *reader.Probe) error {
	row := markdownRow{
		provider: strings.Clone(p.Provider), name: strings.Clone(p.Name),
		args: m.arguments(p), semaphore: "no",
	}
	switch {
	case p.Semaphore != 0:
		row.semaphore = "yes"
	case p.SiteErr == reader.ErrNoObject:
		row.semaphore = "" // not known
	}
	if m.symbols {
		if name, _, err := p.Function(); err == nil {
			row.function = markdownCode(name)
		}
	}
	m.rows[row] = true
	return nil
}

func (m *markdownPrinter) flush() error {
	if len(m.rows) == 0 {
		return nil
	}
	rows := make([]markdownRow, 0, len(m.rows))
	for row := range m.rows {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b markdownRow) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.name, b.name), cmp.Compare(a.args, b.args),
			cmp.Compare(a.semaphore, b.semaphore), cmp.Compare(a.function, b.function))
	})
	m.row("Probe", "Arguments", "Semaphore", "Function")
	m.row("---", "---", "---", "---")
	for _, row := range rows {
		m.row(markdownCode(row.provider+":"+row.name), row.args, row.semaphore, row.function)
	}
	return m.w.Flush()
}

// row writes cells, the last of them only if it was requested. Flush reports that
// writing failed.
func (m *markdownPrinter) row(cells ...string) {
	if !m.symbols {
		cells = cells[:len(cells)-1]
	}
	m.w.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// arguments returns the arguments of p as its service declared them, as they are known
// otherwise, or their sizes from the note.
func (m *markdownPrinter) arguments(p *reader.Probe) string {
	var cells []string
	if p.Type != nil && len(p.Type.Fields) > 0 {
		for i := range p.Type.Fields {
			f := &p.Type.Fields[i]
			var t goType
			t.field(f, 0)
			cells = append(cells, markdownCode(f.Name+" "+t.String()))
		}
		return strings.Join(cells, ", ")
	}
	args := p.Arguments()
	known := m.prototypeOf(p, args)
	for i, a := range args {
		if param := param(known, i); param != nil {
			if !param.IsLength {
				cells = append(cells, markdownCode(param.Name+" "+goTypeOf(param, &a)))
			}
			continue
		}
		if a.Err != nil {
			cells = append(cells, markdownCode(argumentName(i)+" ?"))
			continue
		}
		cells = append(cells, markdownCode(argumentName(i)+" "+noteType(&a)))
	}
	return strings.Join(cells, ", ")
}

// markdownCode returns s as code in a cell of a table. If s would end the code or the
// cell, it returns text with escapes instead.
func markdownCode(s string) string {
	s = printable.String(s)
	if !strings.ContainsAny(s, "`|\\") {
		return "`" + s + "`"
	}
	var b strings.Builder
	for _, r := range s {
		// CommonMark: any ASCII punctuation can have a backslash before it.
		if '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
