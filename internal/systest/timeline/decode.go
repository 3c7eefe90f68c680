package timeline

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

//go:embed fields.txt
var fieldsText string

// field is what a message may have.
type field struct{ name, typ string }

// fields returns the fields of each message, by their numbers.
var fields = sync.OnceValue(func() map[string]map[protowire.Number]field {
	all := map[string]map[protowire.Number]field{}
	for line := range strings.Lines(fieldsText) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		n, err := strconv.Atoi(f[2])
		if err != nil || len(f) != 4 {
			panic("fields.txt: " + line)
		}
		if all[f[0]] == nil {
			all[f[0]] = map[protowire.Number]field{}
		}
		all[f[0]][protowire.Number(n)] = field{f[1], f[3]}
	}
	return all
})

// message has the values of a message's fields by their names: uint64, int64, bool,
// float64, string and message.
type message map[string][]any

// decode decodes a message of a type.
func decode(typ string, b []byte) (message, error) {
	m := message{}
	for len(b) > 0 {
		n, wire, size := protowire.ConsumeTag(b)
		if size < 0 {
			return nil, fmt.Errorf("%s: %w", typ, protowire.ParseError(size))
		}
		f, ok := fields()[typ][n]
		if !ok {
			return nil, fmt.Errorf("%s has a field %d, which is not in fields.txt", typ, n)
		}
		b = b[size:]
		v, size, err := value(f.typ, wire, b)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", typ, f.name, err)
		}
		m[f.name], b = append(m[f.name], v), b[size:]
	}
	return m, nil
}

// value decodes the value of a field, and returns its size.
func value(typ string, wire protowire.Type, b []byte) (v any, size int, err error) {
	want := protowire.BytesType
	switch typ {
	case "uint64", "uint32", "int64", "int32", "bool", "enum":
		want = protowire.VarintType
	case "fixed64", "double":
		want = protowire.Fixed64Type
	}
	if wire != want {
		return nil, 0, fmt.Errorf("wire type %d, want %d of a %s", wire, want, typ)
	}
	var bits uint64
	var bytes []byte
	switch want {
	case protowire.VarintType:
		bits, size = protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		bits, size = protowire.ConsumeFixed64(b)
	default:
		bytes, size = protowire.ConsumeBytes(b)
	}
	if size < 0 {
		return nil, 0, protowire.ParseError(size)
	}
	switch typ {
	case "uint64", "fixed64", "enum":
		v = bits
	case "uint32":
		if v = bits; bits > math.MaxUint32 {
			err = fmt.Errorf("%d has more than 32 bits", bits)
		}
	case "int64":
		v = int64(bits)
	case "int32":
		if v = int64(bits); int64(bits) != int64(int32(bits)) {
			err = fmt.Errorf("%d has more than 32 bits", int64(bits))
		}
	case "bool":
		v = bits != 0
	case "double":
		v = math.Float64frombits(bits)
	case "bytes":
		v = string(bytes)
	case "string":
		if v = string(bytes); !utf8.Valid(bytes) {
			err = fmt.Errorf("%q is not UTF-8", bytes)
		}
	default:
		v, err = decode(typ, bytes)
	}
	return v, size, err
}

// get returns the value of a field that occurs at most once, the zero value if it does not.
func get[T any](m message, name string) (v T) {
	if all := m[name]; len(all) > 0 {
		v = all[len(all)-1].(T)
	}
	return v
}
