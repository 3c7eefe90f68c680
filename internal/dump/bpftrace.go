package dump

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// bpftracePrinter writes a line of bpftrace for every probe. Each is a program
// by itself, as in bpftrace -e 'LINE', and all of them together are one, too.
type bpftracePrinter struct {
	w    *bufio.Writer
	seen map[string]bool // sites of one probe are attached to together
	pid  int
}

func newBpftrace(w io.Writer, _ *options) printer {
	return &bpftracePrinter{w: bufio.NewWriter(w), seen: map[string]bool{}}
}

func (b *bpftracePrinter) flush() error { return b.w.Flush() }

func (b *bpftracePrinter) probe(p *reader.Probe) error {
	path := p.Path
	if p.OpenPath != "" {
		path = "*" // bpftrace finds it in the process, with -p
	}
	if p.Live != nil && p.Live.PID != b.pid {
		b.pid = p.Live.PID
		fmt.Fprintf(b.w, "// bpftrace -p %d\n", b.pid)
	}
	for _, s := range []string{path, p.Provider, p.Name} {
		if !bpftraceWritable(s) {
			_, err := fmt.Fprintf(b.w, "// %s: bpftrace has no way to write this\n", printable.String(path+":"+p.Provider+":"+p.Name))
			return err
		}
	}
	target := "usdt:" + bpftraceQuote(path) + ":" + bpftraceQuote(p.Provider) + ":" + bpftraceQuote(p.Name)
	if b.seen[target] {
		return nil
	}
	b.seen[target] = true
	var format strings.Builder
	var values []string
	d := decoded{p, p.Arguments()}
	for i := range d.args {
		f, v := bpftraceArgument(d, i)
		if v == "" {
			continue
		}
		name := fmt.Sprintf("arg%d", i)
		if t := blockField(d, i); t != nil {
			name = identifier(t.Name)
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

// bpftraceArgument returns argument i as a printf verb and an expression,
// which is empty for one that bpftrace cannot read or that belongs to another.
func bpftraceArgument(p decoded, i int) (verb, value string) {
	a := &p.args[i]
	// Its parser, bcc's, knows no 'f' behind the size.
	if a.Err != nil || a.Float || a.Symbol != "" || a.Segment != "" || a.Pair != "" || a.Size > 8 {
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
		case f.Kind == reader.String && n >= 0:
			return "%s", fmt.Sprintf("str(%s, arg%d)", arg, n)
		case f.Kind == reader.String:
			return "%s", fmt.Sprintf("str(%s)", arg)
		case f.Kind == reader.Bytes && n >= 0:
			return "%r", fmt.Sprintf("buf(%s, arg%d)", arg, n)
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

// bpftraceWritable reports whether s can stand in quotes, where bpftrace knows
// no escapes in the name of a probe.
func bpftraceWritable(s string) bool {
	return s != "" && !strings.ContainsAny(s, "\"\\") && printable.String(s) == s
}

// percent returns s as it stands for itself in a format.
func percent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// bpftraceQuote puts a part of a probe's name in quotes if bpftrace's lexer
// would not take it as it is.
func bpftraceQuote(s string) string {
	for _, c := range s {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.ContainsRune("_-./*+", c):
		default:
			return `"` + s + `"`
		}
	}
	return s
}
