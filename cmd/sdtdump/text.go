package main

import (
	"io"
	"strconv"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// textPrinter writes a line per probe below a line per object:
//
//	/usr/bin/python3.11  build-id 571d98e0…
//	  python:gc__start  0x428833  semaphore 0xa84238  (int32 [rsp+112])
//
// and below that what is worth a word: C declarations, what is wrong.
type textPrinter struct {
	w    io.Writer
	buf  []byte
	path string // of the object whose line was written last
	pid  int
	args map[string]string // rendered arguments by their text
}

func newText(w io.Writer, _ *options) printer {
	return &textPrinter{w: w, buf: make([]byte, 0, 80<<10), args: map[string]string{}}
}

func (t *textPrinter) flush() error {
	_, err := t.w.Write(t.buf)
	t.buf = t.buf[:0]
	return err
}

func (t *textPrinter) probe(p *reader.Probe) error {
	t.object(p)
	b := append(t.buf, "  "...)
	b = append(b, p.Provider...)
	b = append(b, ':')
	b = append(b, p.Name...)
	b = appendHex(append(b, "  "...), p.Location)
	if p.Live != nil {
		b = appendHex(append(b, "  at "...), p.Live.Address)
	}
	if p.Semaphore != 0 {
		b = appendHex(append(b, "  semaphore "...), p.Semaphore)
		if p.Live != nil && p.Live.SemaphoreAddress != 0 {
			if v, err := p.SemaphoreValue(); err == nil {
				b = strconv.AppendUint(append(b, '='), uint64(v), 10)
			}
		}
	}
	b = append(b, "  ("...)
	b = append(b, t.arguments(p)...)
	b = append(b, ")\n"...)
	if p.Type != nil && len(p.Type.Fields) > 0 {
		b = append(b, "      "...)
		for i := range p.Type.Fields {
			if i > 0 {
				b = append(b, ' ')
			}
			b = append(b, p.Type.Fields[i].Declare()...)
			b = append(b, ';')
		}
		b = append(b, '\n')
	}
	for _, err := range []error{p.SiteErr, p.SemaphoreErr} {
		if err != nil {
			b = append(b, "      ! "...)
			b = append(b, err.Error()...)
			b = append(b, '\n')
		}
	}
	for i := range p.Arguments {
		if err := p.Arguments[i].Err; err != nil {
			b = append(b, "      ! "...)
			b = append(b, err.Error()...)
			b = append(b, '\n')
		}
	}
	t.buf = b
	if len(t.buf) >= 64<<10 {
		return t.flush()
	}
	return nil
}

// object writes the line of p's object if p is the first of it.
func (t *textPrinter) object(p *reader.Probe) {
	pid := 0
	if p.Live != nil {
		pid = p.Live.PID
	}
	if p.Path == t.path && pid == t.pid {
		return
	}
	t.path, t.pid = p.Path, pid
	b := append(t.buf, p.Path...)
	if pid != 0 {
		b = append(b, "  pid "...)
		b = strconv.AppendInt(b, int64(pid), 10)
	}
	if p.OpenPath != "" {
		b = append(b, "  open "...)
		b = append(b, p.OpenPath...)
	}
	if p.BuildID != "" {
		b = append(b, "  build-id "...)
		b = append(b, p.BuildID...)
	}
	t.buf = append(b, '\n')
}

// arguments returns the arguments of p as text; programs repeat few.
func (t *textPrinter) arguments(p *reader.Probe) string {
	if p.Args == "" {
		return ""
	}
	key := p.Args
	if s, ok := t.args[key]; ok {
		return s
	}
	var b []byte
	for i := range p.Arguments {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendArgument(b, &p.Arguments[i])
	}
	s := string(b)
	if len(t.args) < 4096 {
		t.args[key] = s
	}
	return s
}

// appendArgument appends an argument as its type and where it is: a register
// by name, memory in brackets, a constant behind '='.
func appendArgument(b []byte, a *notes.Arg) []byte {
	if a.Err != nil {
		return strconv.AppendQuote(append(b, '?'), a.Text)
	}
	switch {
	case a.Float:
		b = append(b, "float"...)
	case a.Signed:
		b = append(b, "int"...)
	default:
		b = append(b, "uint"...)
	}
	b = strconv.AppendInt(b, int64(8*a.Size), 10)
	b = append(b, ' ')
	switch a.Kind {
	case notes.Reg:
		b = append(b, a.Reg...)
		if a.Pair != "" {
			b = append(append(b, ':'), a.Pair...)
		}
	case notes.Imm:
		b = append(b, '=')
		if a.Symbol == "" {
			return append(b, immediate(a)...)
		}
		b = appendSymbol(b, a)
		b = appendDisp(b, a.Disp)
	case notes.Mem:
		b = appendMemory(b, a)
	}
	return b
}

func appendMemory(b []byte, a *notes.Arg) []byte {
	b = append(b, '[')
	if a.Segment != "" {
		b = append(append(b, a.Segment...), ':')
	}
	start := len(b)
	plus := func() {
		if len(b) > start {
			b = append(b, '+')
		}
	}
	if a.Base != "" {
		b = append(b, a.Base...)
	}
	if a.Index != "" {
		plus()
		b = append(b, a.Index...)
		if a.Extend != "" {
			b = append(append(b, ' '), a.Extend...)
		}
		if a.Scale > 1 {
			b = strconv.AppendInt(append(b, '*'), int64(a.Scale), 10)
		}
	}
	if a.Symbol != "" {
		plus()
		b = appendSymbol(b, a)
	}
	switch {
	case len(b) == start:
		b = appendHex(b, uint64(a.Disp))
	default:
		b = appendDisp(b, a.Disp)
	}
	return append(b, ']')
}

func appendSymbol(b []byte, a *notes.Arg) []byte {
	b = append(b, a.Symbol...)
	if a.Reloc != "" {
		b = append(append(b, '@'), a.Reloc...)
	}
	return b
}

func appendDisp(b []byte, disp int64) []byte {
	if disp > 0 {
		b = append(b, '+')
	}
	if disp != 0 {
		b = strconv.AppendInt(b, disp, 10)
	}
	return b
}

func appendHex(b []byte, v uint64) []byte {
	return strconv.AppendUint(append(b, "0x"...), v, 16)
}
