package usdtreceiver

import (
	"testing"

	"github.com/go-usdt/usdt/event"
)

// TestParent checks which values of arguments are identifiers, and which are not.
func TestParent(t *testing.T) {
	const id, within = "0102030405060708090a0b0c0d0e0f10", "1112131415161718"
	raw := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	var list event.List
	for _, b := range raw {
		list = append(list, event.Arg{Value: uint64(b)})
	}
	const high, low = uint64(0x0102030405060708), uint64(0x090a0b0c0d0e0f10)
	for name, c := range map[string]struct {
		trace, more, span any
		id, in            string
	}{
		"text":                        {trace: id, span: within, id: id, in: within},
		"capitals":                    {trace: "0102030405060708090A0B0C0D0E0F10", id: id},
		"a UUID":                      {trace: "01020304-0506-0708-090a-0b0c0d0e0f10", id: id},
		"a text of bytes":             {trace: string(raw), id: id},
		"bytes":                       {trace: raw, span: raw[:8], id: id, in: "0102030405060708"},
		"an array":                    {trace: event.Hex(raw), id: id},
		"a list of bytes":             {trace: list, id: id},
		"two halves":                  {trace: high, more: low, span: uint64(0x1112131415161718), id: id, in: within},
		"signed halves":               {trace: int64(high), more: int64(low), span: int64(-1), id: id, in: "ffffffffffffffff"},
		"halves in a list":            {trace: event.List{{Value: high}, {Value: low}}, id: id},
		"halves as text":              {trace: "0102030405060708", more: "090a0b0c0d0e0f10", id: id},
		"words":                       {trace: event.Struct{{Value: uint64(0x0807060504030201)}, {Value: uint64(0x100f0e0d0c0b0a09)}}, id: id},
		"64 bits":                     {trace: low, id: "0000000000000000090a0b0c0d0e0f10"},
		"64 bits as text":             {trace: "090a0b0c0d0e0f10", id: "0000000000000000090a0b0c0d0e0f10"},
		"a span that is none":         {trace: id, span: "of no digits", id: id},
		"a span that is too long":     {trace: id, span: id, id: id},
		"zeros":                       {trace: "00000000000000000000000000000000"},
		"no number":                   {trace: uint64(0)},
		"too short":                   {trace: "0102"},
		"too long":                    {trace: id + "11"},
		"no digits":                   {trace: "no digits"},
		"bytes that are too few":      {trace: raw[:15]},
		"a list that is too short":    {trace: list[:3]},
		"a list of no bytes":          {trace: event.List{{Value: "a"}, {Value: "b"}}},
		"one half":                    {trace: "0102030405060708", more: 1.5},
		"a fraction":                  {trace: 1.5},
		"nothing":                     {},
		"a struct that has no words":  {trace: event.Struct{{Value: "a"}, {Value: "b"}}},
		"a struct with another field": {trace: event.Struct{{Value: high}}},
	} {
		p := parent{trace: []string{"trace"}, span: "span"}
		if c.more != nil {
			p.trace = append(p.trace, "more")
		}
		trace, span, ok := p.in([]event.Arg{{Name: "trace", Value: c.trace}}, []event.Arg{{Name: "more", Value: c.more}, {Name: "span", Value: c.span}})
		if ok != (c.id != "") || trace.String() != c.id || span.String() != c.in {
			t.Errorf("%s: trace %s, span %s, %v, want %q, %q", name, trace, span, ok, c.id, c.in)
		}
	}
}
