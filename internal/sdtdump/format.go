package sdtdump

import (
	"bufio"
	"io"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// printer writes probes in one format.
type printer interface {
	// probe writes p, which the caller reuses for another probe afterwards. It
	// returns an error of writing.
	probe(p *reader.Probe) error
	// flush writes the remaining output.
	flush() error
}

// lines is what printers that write a line for each probe share.
type lines struct {
	*options
	w *bufio.Writer
}

func newLines(w io.Writer, o *options) lines { return lines{o, bufio.NewWriter(w)} }

func (l lines) flush() error { return l.w.Flush() }

// formats are the values of --format, the default first.
var formats = []struct {
	name string
	new  func(io.Writer, *options) printer
}{
	{"text", newText},
	{"json", newJSON},
	{"markdown", newMarkdown},
	{"bpftrace", newBpftrace},
	{"uprobe_events", newUprobeEvents},
	{"c", newC},
}

// formatOf returns what makes the printer of a format, nil if there is no such format.
func formatOf(name string) func(io.Writer, *options) printer {
	for _, f := range formats {
		if f.name == name {
			return f.new
		}
	}
	return nil
}

func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// decoded is a probe with its arguments.
type decoded struct {
	*reader.Probe
	args []notes.Arg
}

// blockField returns the typed field whose value argument i of p is, nil if there is
// none. The arguments of a typed probe are slots of its block: in registers in the
// order of the slots, or in memory at the slot's offset.
func blockField(p decoded, i int) *reader.Field {
	if p.Type == nil || p.args[i].Err != nil {
		return nil
	}
	offset := p.offset(i)
	for j := range p.Type.Fields {
		if f := &p.Type.Fields[j]; f.Offset == offset {
			return f
		}
	}
	return nil
}

// offset returns where in the block argument i of a typed probe is.
func (p decoded) offset(i int) uint32 {
	if a := &p.args[i]; a.Kind == notes.Mem {
		return uint32(a.Disp - int64(p.Type.Record.BlockOffset))
	}
	return uint32(8 * i)
}

// lengthOf returns the number of the argument that is the length of field f, or -1 if
// the note has none.
func lengthOf(p decoded, f *reader.Field) int {
	for i := range p.args {
		if p.offset(i) == f.LenOffset {
			return i
		}
	}
	return -1
}

// identifier returns s as a C identifier: other characters become '_'.
func identifier(s string) string {
	b := []byte(s)
	for i, c := range b {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', i > 0 && '0' <= c && c <= '9':
		default:
			b[i] = '_'
		}
	}
	if len(b) == 0 {
		return "_"
	}
	return string(b)
}
