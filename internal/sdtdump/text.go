package sdtdump

import (
	"io"
	"strconv"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

// textPrinter writes a line per probe below a line per object:
//
//	/usr/bin/python3.11  build-id 571d98e0…
//	  python:gc__start  0x428833  semaphore 0xa84238  (int32 [rsp+112])
//
// Below a probe's line, it writes C declarations and errors.
type textPrinter struct {
	*options
	w     io.Writer
	buf   []byte
	path  string // path of the object whose line was written last
	pid   int
	args  arguments
	types map[*btf.Struct]string // their declarations
}

func newText(w io.Writer, o *options) printer {
	return &textPrinter{options: o, w: w, buf: make([]byte, 0, 80<<10), types: map[*btf.Struct]string{}}
}

func (t *textPrinter) flush() error {
	_, err := t.w.Write(t.buf)
	t.buf = t.buf[:0]
	return err
}

func (t *textPrinter) probe(p *reader.Probe) error {
	t.object(p)
	b := t.start(append(t.buf, "  "...), cyan)
	b = printable.Append(b, p.Provider)
	b = append(b, ':')
	b = t.end(printable.Append(b, p.Name))
	if p.SiteErr != reader.ErrNoObject {
		b = appendHex(append(b, "  "...), p.Location)
	}
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
	args := t.args.of(p)
	if p.SiteErr != reader.ErrNoObject {
		b = append(append(append(b, "  ("...), args.text...), ')')
	}
	if t.symbols {
		if name, offset, err := p.Function(); err == nil {
			b = printable.Append(append(b, "  in "...), name)
			b = appendHex(append(b, '+'), offset)
		}
	}
	b = append(b, '\n')
	if t.disasm {
		b = appendSite(b, p)
	}
	if p.Type != nil && len(p.Type.Fields) > 0 {
		b = append(append(append(b, "      "...), t.declarations(p.Type)...), '\n')
	}
	if known := t.prototypeOf(p, nil); known != nil {
		b = append(appendPrototype(append(b, "      "...), known), '\n')
	}
	for _, err := range []error{p.SiteErr, p.SemaphoreErr} {
		if err != reader.ErrNoObject {
			b = t.complain(b, err)
		}
	}
	for _, err := range args.errs {
		b = t.complain(b, err)
	}
	t.buf = b
	if len(t.buf) >= 64<<10 {
		return t.flush()
	}
	return nil
}

// complain appends a line with err, unless err is nil.
func (t *textPrinter) complain(b []byte, err error) []byte {
	if err == nil {
		return b
	}
	b = t.start(append(b, "      "...), red)
	b = printable.Append(append(b, "! "...), err.Error())
	return append(t.end(b), '\n')
}

// start appends the escape sequence that begins style s; end appends the one that
// ends it.
func (t *textPrinter) start(b []byte, s style) []byte {
	if t.color {
		b = append(b, s...)
	}
	return b
}

func (t *textPrinter) end(b []byte) []byte { return t.start(b, normal) }

// object writes the line of p's object if p is its first probe.
func (t *textPrinter) object(p *reader.Probe) {
	pid := 0
	if p.Live != nil {
		pid = p.Live.PID
	}
	if p.Path == t.path && pid == t.pid {
		return
	}
	t.path, t.pid = p.Path, pid
	b := t.end(printable.Append(t.start(t.buf, bold), p.Path))
	if pid != 0 {
		b = append(b, "  pid "...)
		b = strconv.AppendInt(b, int64(pid), 10)
	}
	if p.OpenPath != "" {
		b = append(b, "  open "...)
		b = printable.Append(b, p.OpenPath)
	}
	if p.BuildID != "" {
		b = append(b, "  build-id "...)
		b = append(b, p.BuildID...)
	}
	t.buf = append(b, '\n')
}

// declarations returns the fields of typ as C. It keeps them, because many probes
// share few structs.
func (t *textPrinter) declarations(typ *reader.Type) string {
	s, ok := t.types[typ.Struct]
	if !ok {
		var b []byte
		for i := range typ.Fields {
			if i > 0 {
				b = append(b, ' ')
			}
			b = append(append(b, typ.Fields[i].Declare()...), ';')
		}
		s = printable.String(string(b))
		t.types[typ.Struct] = s
	}
	return s
}
