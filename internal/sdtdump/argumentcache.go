package sdtdump

import (
	"debug/elf"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// arguments renders the arguments of probes. It remembers argument strings, because
// programs repeat few of them.
type arguments struct {
	machine elf.Machine
	class   elf.Class
	cache   map[string]rendered
	last    string // the last argument string
	args    rendered
	asked   int
	hits    int
	parsed  []notes.Arg
	buf     []byte
}

// rendered holds the arguments of an argument string as text, and the errors in them.
type rendered struct {
	text []byte
	errs []error
}

// Remembering costs memory and a lookup, and pays only if strings recur.
const (
	maxUnpaid = 1 << 10 // strings are remembered without that
	maxCached = 1 << 14
)

// of returns the arguments of p, valid until the next call.
func (r *arguments) of(p *reader.Probe) rendered {
	if p.Machine != r.machine || p.Class != r.class || r.cache == nil {
		*r = arguments{machine: p.Machine, class: p.Class, cache: map[string]rendered{}}
	} else if p.Args == r.last {
		return r.args
	}
	r.last = p.Args
	r.asked++
	if r.asked > 4*maxUnpaid && r.hits < r.asked/4 {
		r.args = r.render(p)
		return r.args
	}
	var ok bool
	if r.args, ok = r.cache[p.Args]; ok {
		r.hits++
		return r.args
	}
	r.args = r.render(p)
	if n := len(r.cache); n < maxUnpaid || n < min(r.hits, maxCached) {
		r.args.text = append([]byte(nil), r.args.text...)
		r.cache[p.Args] = r.args
	}
	return r.args
}

func (r *arguments) render(p *reader.Probe) rendered {
	var errs []error
	r.parsed = notes.AppendArgs(r.parsed[:0], notes.Machine(p.Machine), notes.Class(p.Class), p.Args)
	b := r.buf[:0]
	for i := range r.parsed {
		a := &r.parsed[i]
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendArgument(b, a)
		if a.Err != nil {
			errs = append(errs, a.Err)
		}
	}
	r.buf = b
	return rendered{b, errs}
}
