package perfetto

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/go-usdt/usdt/internal/printable"
)

func appendUint(dst []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), v)
}

func appendFixed(dst []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(dst, field, protowire.Fixed64Type), v)
}

func appendDouble(dst []byte, field protowire.Number, v float64) []byte {
	return appendFixed(dst, field, math.Float64bits(v))
}

// appendText appends a string, which in protobuf is UTF-8, as it is shown.
func appendText(dst []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), printable.String(s))
}

func appendBytes(dst []byte, field protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), b)
}

// open begins a message within another one, for whose length it leaves a byte, and returns
// where its fields begin.
func open(dst []byte, field protowire.Number) ([]byte, int) {
	dst = append(protowire.AppendTag(dst, field, protowire.BytesType), 0)
	return dst, len(dst)
}

// closed ends the message whose fields begin at start. A length of more than a byte moves
// them.
func closed(dst []byte, start int) []byte {
	n := uint64(len(dst) - start)
	if n < 1<<7 {
		dst[start-1] = byte(n)
		return dst
	}
	var length [10]byte
	size := len(protowire.AppendVarint(length[:0], n))
	dst = append(dst, length[:size-1]...) // for room
	copy(dst[start+size-1:], dst[start:len(dst)-size+1])
	copy(dst[start-1:], length[:size])
	return dst
}
