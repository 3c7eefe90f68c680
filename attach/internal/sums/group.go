package sums

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// decode sets g to the group of a key and its words. named are the stacks by their numbers in keys.
func decode(g *total.Group, key []byte, w *words, probes []*reader.Probe, named map[uint64]*event.Stack) {
	l := w.l
	*g = total.Group{Count: w.all[query.WordCount], By: make([]event.Arg, 0, len(l.Parts)), Other: isOther(key)}
	for i := range l.Parts {
		part, arg := l.Part(key, i), event.Arg{Name: l.Wanted.By[i]}
		if g.Other {
			// It has many keys.
		} else if reason, missing := l.MissingPart(key, i); missing {
			arg.Err = reason
		} else if part.In.Source == query.InputStack {
			decodeStack(&arg, binary.NativeEndian.Uint64(key[part.Offset:]), named)
		} else {
			decodePart(&part, &arg, key[part.Offset:part.Offset+part.Size], probes, l.Groups)
		}
		g.By = append(g.By, arg)
	}
	for f := range query.Functions {
		if l.Wanted.Functions.Has(f) {
			results[f](g, w)
		}
	}
	g.Hist = bucketsOf(l, w.cell(query.CellHist))
	if len(l.Wanted.Quantiles) > 0 {
		g.Quantiles = w.quantiles(l.Wanted.Quantiles)
	}
	g.Meaning = l.Value.Meaning
}

// errNoPID is why the key of a group by pid or tid is missing.
var errNoPID = errors.New("it has no PID in the PID namespace of the tracer")

// decodePart sets the value of a part of a key.
func decodePart(p *query.Part, arg *event.Arg, b []byte, probes []*reader.Probe, groups query.Groups) {
	switch {
	case p.In.Source == query.InputProbe:
		probe := probes[binary.NativeEndian.Uint64(b)]
		switch arg.Name {
		case "func":
			arg.Value = bind.FunctionName(probe)
		case "module":
			arg.Value = probe.Provider
		default:
			arg.Value = site.Name(probe)
		}
	case p.Size == query.KeyComm:
		arg.Value = unix.ByteSliceToString(b)
	case p.IsString():
		n, most := binary.NativeEndian.Uint64(b), uint64(p.Most())
		str := b[query.StringData:][:min(n, most)]
		if p.Shown != nil && n <= most {
			str = p.Shown.Append(nil, str) // the kernel has grouped by the original text
		}
		value := event.BytesValue(p.In.Kind, p.In.Meaning, str, nil)
		if n > most {
			value = event.TruncatedValue(p.In.Kind, p.In.Meaning, str)
		}
		arg.Value, arg.Err = value.Any()
	default:
		u := binary.NativeEndian.Uint64(b)
		if p.In.Group != 0 {
			arg.Value = groups.Text(u, p.In.Group)
			break
		}
		if u == 0 && (arg.Name == "pid" || arg.Name == "tid") {
			arg.Err = errNoPID
			break
		}
		arg.Value, arg.Err = event.NumberValue(p.In.Kind, p.In.Meaning, u, 8).Any()
	}
}
