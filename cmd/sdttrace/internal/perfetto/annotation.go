package perfetto

import (
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/go-usdt/usdt/event"
)

// appendArgs appends arguments as annotations of an event.
func (w *Writer) appendArgs(dst []byte, args []event.Arg) []byte {
	if event.Struct(args).IsNil() {
		return w.appendNamed(dst, eventAnnotation, "record", &event.Arg{})
	}
	for i := range args {
		dst = w.appendNamed(dst, eventAnnotation, args[i].Name, &args[i])
	}
	return dst
}

// appendNamed appends an argument, or a field of a struct, under a name.
func (w *Writer) appendNamed(dst []byte, field protowire.Number, name string, a *event.Arg) []byte {
	dst, start := open(dst, field)
	dst = appendUint(dst, annotationName, w.interned.text(internedArgument, name))
	return closed(w.appendValue(dst, a), start)
}

// appendValue appends the value of an argument: numbers and bools as such, durations as
// nanoseconds, structs and lists nested, all else as the text that sdttrace prints.
func (w *Writer) appendValue(dst []byte, a *event.Arg) []byte {
	more := ""
	if a.Err != nil {
		more = "..." // of a text whose end is missing
	}
	switch v := a.Value.(type) {
	case uint64:
		if v > math.MaxUint32 && isUntyped(a.Name) {
			return appendUint(dst, annotationPointer, v)
		}
		return appendUint(dst, annotationUint, v)
	case int64:
		return appendUint(dst, annotationInt, uint64(v))
	case time.Duration:
		return appendUint(dst, annotationInt, uint64(v))
	case bool:
		return appendUint(dst, annotationBool, protowire.EncodeBool(v))
	case float64:
		return appendDouble(dst, annotationDouble, v)
	case string:
		return appendText(dst, annotationString, v+more)
	case []byte:
		return appendText(dst, annotationString, "b"+strconv.Quote(string(v))+more)
	case event.Hex:
		return appendText(dst, annotationString, v.String()+more)
	case time.Time:
		return appendText(dst, annotationString, v.Format(time.RFC3339Nano))
	case netip.Addr:
		if !v.IsValid() {
			return appendText(dst, annotationString, "none")
		}
		return appendText(dst, annotationString, v.String())
	case event.Struct:
		if len(v) == 0 {
			return appendText(dst, annotationString, "{}") // an annotation needs a value
		}
		for i := range v {
			dst = w.appendNamed(dst, annotationEntry, v[i].Name, &v[i])
		}
		return dst
	case event.List:
		if len(v) == 0 {
			return appendText(dst, annotationString, "[]"+more)
		}
		for i := range v {
			var start int
			dst, start = open(dst, annotationElement)
			dst = closed(w.appendValue(dst, &v[i]), start)
		}
		return dst
	}
	if a.Err != nil {
		return appendText(dst, annotationString, "?("+a.Err.Error()+")")
	}
	return appendText(dst, annotationString, "nil")
}

// isUntyped reports whether the argument is named only by its position. Such an argument
// is most often an address if it is wide.
func isUntyped(name string) bool {
	digits, ok := strings.CutPrefix(name, "arg")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// lookup returns the argument at a path such as id or peer.port, nil if there is none.
func lookup(args []event.Arg, path string) *event.Arg {
	for {
		name, rest, nested := strings.Cut(path, ".")
		i := 0
		for i < len(args) && args[i].Name != name {
			i++
		}
		switch {
		case i == len(args):
			return nil
		case !nested:
			return &args[i]
		}
		fields, ok := args[i].Value.(event.Struct)
		if !ok {
			return nil
		}
		args, path = fields, rest
	}
}
