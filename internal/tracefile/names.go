package tracefile

import (
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// The names that files have for numbers, which may change from version to version of this
// module. A file of a later version may have others. Kinds of probes have the names that reader
// gives them.
var (
	kinds    = []string{reader.Uint: "uint", reader.Int: "int", reader.Bool: "bool", reader.Float: "float", reader.String: "string", reader.Bytes: "bytes", reader.Other: "other"}
	meanings = []string{reader.Plain: "", reader.Duration: "duration", reader.Time: "time", reader.Address: "address", reader.NetIP: "ip", reader.Hex: "hex"}
	sources  = []string{
		shape.FromNowhere: "nowhere", shape.FromConstant: "constant", shape.FromRecord: "number", shape.FromRaw: "raw", shape.FromChars: "chars",
		shape.FromString: "string", shape.FromStruct: "struct", shape.FromArray: "array", shape.FromCounted: "counted", shape.FromSlice: "slice",
		shape.FromPointer: "pointer", shape.FromGoTime: "gotime", shape.FromGoAddr: "goaddr",
	}
)

// numberOf returns the number that a name stands for.
func numberOf[T ~uint8](names []string, name, what string) (T, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, fmt.Errorf("%s %q is unknown", what, name)
	}
	return T(i), nil
}
