package timeline

import (
	"fmt"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// check returns how the library differs from the one that processor.cc and the queries know:
// it asks for texts of all lengths, whose memory is laid out in two ways, for no row, and
// for what a small trace shows, by all queries.
func check(program []byte) error {
	const short, long = "0123456789012345678901", "01234567890123456789012"
	a, err := ask(program, slices.Concat(example()...), append([]string{"select '" + short + "', '" + long + "', '', null", "select 1 where 0"}, queries...)...)
	if err != nil {
		return err
	}
	if d := gocmp.Diff([][][]string{{{short, long, "", none}}, {}, {}}, a[:3]); d != "" {
		return fmt.Errorf("answers to queries (-known +here):\n%s", d)
	}
	known := view{
		Slices: []string{
			line(2000, 0, "text", "text", 10, 11, "", 0, "", nil, nil),
			line(3000, 1000, "text", "text", 10, 11, "", 0, "", nil, nil),
		},
		Threads: []string{"11 text"},
		Ahead:   "0",
	}
	if d := gocmp.Diff(known, processed(a[2:])); d != "" {
		return fmt.Errorf("what a trace shows (-known +here):\n%s", d)
	}
	return nil
}

// packed is a field: a number or, with parts, a message.
func packed(number protowire.Number, value uint64, parts ...[]byte) []byte {
	if parts == nil {
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), value)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), slices.Concat(parts...))
}

// example returns the packets of a trace of an instant and a slice on a thread.
func example() [][]byte {
	clock := func(id uint64) []byte { return packed(1, 0, packed(1, id), packed(2, 1000)) }
	event := func(at uint64, fields ...[]byte) []byte {
		return packed(1, 0, packed(8, at), packed(10, 5), packed(13, 2), packed(11, 0, append(fields, packed(11, 7))...))
	}
	text := []byte("text")
	return [][]byte{
		packed(1, 0, packed(10, 5), packed(13, 1), packed(59, 0, packed(58, 6)), packed(6, 0, clock(6), clock(1), packed(2, 6)),
			packed(12, 0, packed(1, 0, packed(1, 1), packed(2, 0, text)), packed(2, 0, packed(1, 1), packed(2, 0, text)))),
		packed(1, 0, packed(10, 5), packed(60, 0, packed(1, 7), packed(4, 0, packed(1, 10), packed(2, 11), packed(5, 0, text)))),
		event(2000, packed(9, 3), packed(3, 1), packed(10, 1)),
		event(3000, packed(9, 1), packed(3, 1), packed(10, 1)),
		event(4000, packed(9, 2), packed(3, 1), packed(10, 1)),
	}
}
