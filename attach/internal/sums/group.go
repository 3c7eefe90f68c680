package sums

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// groupOf decodes a key and its words. named are the stacks by their numbers in keys.
func groupOf(l *bind.Layout, key []byte, words []uint64, probes []*reader.Probe, named map[uint64]*event.Stack) total.Group {
	g := total.Group{Count: words[query.WordCount], By: make([]event.Arg, 0, len(l.Parts)), Other: isOther(key)}
	for i := range l.Parts {
		part, arg := l.Part(key, i), event.Arg{Name: l.Wanted.By[i]}
		if g.Other {
			// It has many keys.
		} else if reason, missing := l.MissingPart(key, i); missing {
			arg.Err = reason
		} else if part.In.Source == query.InputStack {
			decodeStack(&arg, binary.NativeEndian.Uint64(key[part.Offset:]), named)
		} else {
			decodePart(&part, &arg, key[part.Offset:part.Offset+part.Size], probes)
		}
		g.By = append(g.By, arg)
	}
	kind, meaning := l.Value.Kind, l.Value.Meaning
	if kind != reader.Int && kind != reader.Float {
		kind = reader.Uint
	}
	number := func(bits uint64) any {
		// A minimum or maximum can be a time that is only a bound.
		v, _ := event.NumberValue(kind, meaning, bits, 8).Any()
		return v
	}
	sum := words[query.WordSum]
	avg := float64(sum)
	switch i := int64(sum); kind {
	case reader.Float:
		avg = math.Ldexp(float64(i), -query.SumFraction)
		sum = math.Float64bits(avg)
	case reader.Int:
		avg = float64(i)
	}
	if l.Wanted.Sum {
		g.Sum = number(sum)
	}
	var upper any // the average, rounded up
	if l.Wanted.Avg {
		avg /= float64(g.Count)
		switch upper = number(uint64(int64(math.Ceil(avg)))); kind {
		case reader.Float:
			upper = number(math.Float64bits(avg))
		case reader.Uint:
			upper = number(uint64(math.Ceil(avg)))
		}
		if meaning == reader.Duration {
			g.Avg = time.Duration(math.Round(avg))
		} else {
			g.Avg = avg
		}
	}
	least := number(unorder(^words[query.WordMin], kind))
	most := number(unorder(words[query.WordMax], kind))
	if l.Wanted.Min {
		g.Min = least
	}
	if l.Wanted.Max {
		g.Max = most
	}
	if l.Wanted.Stddev {
		g.Stddev = stddevOf(l, words)
	}
	values := l.Wanted.Values()
	g.Hist = bucketsOf(l, words[query.WordHist:values.HistEnd()])
	if len(l.Wanted.Quantiles) > 0 {
		g.Quantiles = quantilesOf(l, words, upper, least, most, number)
	}
	g.Meaning = meaning
	return g
}

// unorder undoes the order of minima and maxima.
func unorder(u uint64, kind reader.FieldKind) uint64 {
	if kind == reader.Uint {
		return u
	}
	i := int64(u ^ 1<<63)
	if kind == reader.Int {
		return uint64(i)
	}
	if i < 0 {
		i ^= math.MaxInt64
	}
	return uint64(i)
}

// errNoPID is why the key of a group by pid or tid is missing.
var errNoPID = errors.New("it has no PID in the PID namespace of the tracer")

// decodePart sets the value of a part of a key.
func decodePart(p *query.Part, arg *event.Arg, b []byte, probes []*reader.Probe) {
	switch {
	case p.In.Source == query.InputProbe:
		probe := probes[binary.NativeEndian.Uint64(b)]
		arg.Value = site.Name(probe)
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
		if u == 0 && (arg.Name == "pid" || arg.Name == "tid") {
			arg.Err = errNoPID
			break
		}
		arg.Value, arg.Err = event.NumberValue(p.In.Kind, p.In.Meaning, u, 8).Any()
	}
}
