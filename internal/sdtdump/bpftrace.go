package sdtdump

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// bpftracePrinter writes a line of bpftrace for every probe. Each line is a program
// by itself, as in bpftrace -e 'LINE'. All lines below one comment, which says how to
// run bpftrace, also form a program. The lines are for bpftrace from 0.17 on.
type bpftracePrinter struct {
	lines
	written map[string]bool // bpftrace attaches to all sites of a probe together
	command string          // the last comment
}

func newBpftrace(w io.Writer, o *options) printer {
	return &bpftracePrinter{lines: newLines(w, o), written: map[string]bool{}}
}

func (b *bpftracePrinter) probe(p *reader.Probe) error {
	path, command := bpftraceObject(p)
	if command != b.command {
		b.command = command
		fmt.Fprintln(b.w, command)
	}
	for _, s := range []string{path, p.Provider, p.Name} {
		if !bpftraceWritable(s) {
			_, err := fmt.Fprintf(b.w, "// %s: bpftrace has no way to write this\n", printable.String(path+":"+p.Provider+":"+p.Name))
			return err
		}
	}
	target := "usdt:" + bpftraceQuote(path) + ":" + bpftraceQuote(p.Provider) + ":" + bpftraceQuote(p.Name)
	if b.written[command+target] {
		return nil
	}
	b.written[command+target] = true
	var format strings.Builder
	var values []string
	d := decoded{p, p.Arguments()}
	known := b.prototypeOf(p, d.args)
	for i := range d.args {
		if !bpftraceReads(&d.args[i]) {
			fmt.Fprintf(b.w, "// bpftrace from 0.24 on refuses this probe for its argument %s\n", printable.String(d.args[i].Text))
		}
	}
	if len(d.args) > bpftraceMost {
		fmt.Fprintf(b.w, "// bpftrace from 0.24 on has arg%d to arg%d as well\n", bpftraceMost, len(d.args)-1)
	}
	for i := range d.args[:min(len(d.args), bpftraceMost)] {
		f, v := bpftraceArgument(d, i)
		if v == "" {
			continue
		}
		name := fmt.Sprintf("arg%d", i)
		if t := blockField(d, i); t != nil {
			name = identifier(t.Name)
		}
		if a := param(known, i); a != nil {
			if a.IsLength {
				continue
			}
			name = a.Name
			if verb, text := bpftraceText(a, i); verb != "" && bpftraceReads(&d.args[i]) {
				f, v = verb, text
			}
		}
		fmt.Fprintf(&format, " %s=%s", name, f)
		values = append(values, v)
	}
	all := ""
	if len(values) > 0 {
		all = ", " + strings.Join(values, ", ")
	}
	_, err := fmt.Fprintf(b.w, "%s { printf(\"%s:%s%s\\n\"%s); }\n", target, percent(p.Provider), percent(p.Name), format.String(), all)
	return err
}

// bpftraceMost is the number of arguments that bpftrace before 0.24 reads on x86-64.
// It refuses a program that uses more.
const bpftraceMost = 6

// bpftraceObject returns the path by which bpftrace finds a probe's object, and a
// comment that says how to run it. With -p all versions accept files. Before 0.25
// some find memory files by "*" and by no path; later ones find them by path only.
func bpftraceObject(p *reader.Probe) (path, command string) {
	if p.Live == nil {
		return p.Attachable(), ""
	}
	withPID := fmt.Sprintf("// bpftrace -p %d", p.Live.PID)
	switch {
	case p.OpenPath == "":
		return p.Path, withPID
	case strings.HasPrefix(p.OpenPath, fmt.Sprintf("/proc/%d/root/", p.Live.PID)):
		return "*", withPID // of another mount namespace, into which bpftrace looks
	}
	return p.OpenPath, fmt.Sprintf("// bpftrace, without -p: the path is of process %d only", p.Live.PID)
}

// bpftraceReads reports whether bcc, which read arguments for bpftrace before 0.24,
// and libbpf both know the form of an argument. bcc does not know the 'f' behind the
// size, either, but leaves out only that argument.
func bpftraceReads(a *notes.Arg) bool {
	return a.Err == nil && !a.Float && a.Symbol == "" && a.Segment == "" && a.Pair == "" && a.Size <= 8
}

// bpftraceArgument returns argument i as a printf verb and an expression, which is
// empty if bpftrace cannot read the argument or if it belongs to another one.
func bpftraceArgument(p decoded, i int) (verb, value string) {
	a := &p.args[i]
	if !bpftraceReads(a) {
		return "", ""
	}
	if p.Type != nil {
		for j := range p.Type.Fields {
			f := &p.Type.Fields[j]
			if (f.Kind == reader.String || f.Kind == reader.Bytes) && lengthOf(p, f) == i {
				return "", ""
			}
		}
	}
	arg := fmt.Sprintf("arg%d", i)
	if f := blockField(p, i); f != nil {
		switch n := lengthOf(p, f); {
		case f.Kind != reader.String && f.Kind != reader.Bytes:
		case n >= bpftraceMost:
			return "0x%llx", arg
		case n >= 0:
			// From 0.23 on, the length that str takes includes a NUL.
			return "%r", fmt.Sprintf("buf(%s, arg%d)", arg, n)
		case f.Kind == reader.String:
			return "%s", fmt.Sprintf("str(%s)", arg)
		}
	}
	switch {
	case isFloat(blockField(p, i)):
		return "0x%llx", arg // the number's bits
	case a.Signed:
		return "%lld", fmt.Sprintf("(int%d)%s", 8*a.Size, arg)
	case a.Kind == notes.Mem || a.Kind == notes.Reg || a.Kind == notes.Imm:
		return "%llu", arg
	}
	return "", ""
}

func isFloat(f *reader.Field) bool { return f != nil && f.Kind == reader.Float }

// bpftraceWritable reports whether s can stand in quotes: bpftrace knows no escapes
// in the name of a probe.
func bpftraceWritable(s string) bool {
	return s != "" && !strings.ContainsAny(s, "\"\\") && printable.String(s) == s
}

// percent returns s escaped for a printf format.
func percent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// bpftraceQuote quotes a part of a probe's name if bpftrace's lexer would not accept
// it otherwise.
func bpftraceQuote(s string) string {
	for _, c := range s {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.ContainsRune("_-./*", c):
		default:
			return `"` + s + `"`
		}
	}
	return s
}
