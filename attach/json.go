package attach

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

// errUTF8 is what an event's "errors" say of a string that JSON cannot hold.
var errUTF8 = errors.New("invalid UTF-8 replaced by U+FFFD")

// timeFormat is RFC 3339 with all nine digits of the nanoseconds.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// MarshalJSON returns the event as one JSON object:
//
//	{"time": …, "pid": …, "tid": …, "comm": …, "provider": …, "name": …,
//	 "args": {name: value}, "errors": {name: why}}
//
// Integers are exact, also beyond 2^53; NaN, +Inf and -Inf are strings; bytes
// are base64; durations are nanoseconds, times RFC 3339 in UTC, addresses text, and
// null if they are none; a Struct is an object, a List an array, a pointer to nothing null.
// What is wrong within them is named by its path, as "peer.host" or "tags[1]".
// errors is absent if there are none. Events of functions have, behind their
// name, "kind": "uprobe" or "uretprobe".
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// AppendJSON appends to dst what MarshalJSON returns.
func (e *Event) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"time":"`...)
	dst = e.Time.AppendFormat(dst, timeFormat)
	dst = append(dst, `","pid":`...)
	dst = strconv.AppendInt(dst, int64(e.PID), 10)
	dst = append(dst, `,"tid":`...)
	dst = strconv.AppendInt(dst, int64(e.TID), 10)
	for _, f := range [...]struct{ key, value string }{{"comm", e.Comm}, {"provider", e.Provider}, {"name", e.Name}} {
		dst = append(append(append(dst, `,"`...), f.key...), `":`...)
		dst = appendString(dst, f.value)
	}
	if e.Probe != nil && e.Probe.Kind != reader.USDT {
		dst = append(append(append(dst, `,"kind":"`...), e.Probe.Kind.String()...), '"')
	}
	dst = append(dst, `,"args":`...)
	dst = appendFields(dst, e.Args)
	return append(appendErrors(dst, e.Args), '}')
}

// appendErrors appends what is wrong with the arguments, behind a comma; nothing
// if nothing is.
func appendErrors(dst []byte, args []Arg) []byte {
	start := len(dst)
	for i := range args {
		dst = args[i].appendTroubles(dst, start, args[i].Name)
	}
	if len(dst) > start {
		dst = append(dst, '}')
	}
	return dst
}

// appendTroubles appends what is wrong with the argument, and within it, to the
// object "errors", which begins at start.
func (a *Arg) appendTroubles(dst []byte, start int, where string) []byte {
	if err := a.trouble(); err != nil {
		if len(dst) == start {
			dst = append(dst, `,"errors":{`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, where), ':')
		dst = appendString(dst, err.Error())
	}
	switch v := a.Value.(type) {
	case Struct:
		for i := range v {
			dst = v[i].appendTroubles(dst, start, where+"."+v[i].Name)
		}
	case List:
		for i := range v {
			dst = v[i].appendTroubles(dst, start, fmt.Sprintf("%s[%d]", where, i))
		}
	}
	return dst
}

// appendFields appends an object.
func appendFields(dst []byte, fields []Arg) []byte {
	dst = append(dst, '{')
	for i := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, fields[i].Name), ':')
		dst = appendValue(dst, fields[i].Value)
	}
	return append(dst, '}')
}

// trouble is why the argument's JSON value is missing or not the whole truth.
func (a *Arg) trouble() error {
	s, ok := a.Value.(string)
	if !ok || utf8.ValidString(s) {
		return a.Err
	}
	if a.Err != nil {
		return fmt.Errorf("%w; %w", a.Err, errUTF8)
	}
	return errUTF8
}

func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case bool:
		return strconv.AppendBool(dst, v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(strconv.AppendFloat(append(dst, '"'), v, 'g', -1, 64), '"')
		}
		return printable.AppendFloat(dst, v)
	case string:
		return appendString(dst, v)
	case time.Duration:
		return strconv.AppendInt(dst, int64(v), 10)
	case time.Time:
		return append(v.AppendFormat(append(dst, '"'), timeFormat), '"')
	case netip.Addr:
		if !v.IsValid() {
			return append(dst, "null"...)
		}
		return append(v.AppendTo(append(dst, '"')), '"')
	case []byte:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v)
		return append(dst, '"')
	case Struct:
		return appendFields(dst, v)
	case List:
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, v[i].Value)
		}
		return append(dst, ']')
	}
	return append(dst, "null"...)
}

func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			b, err := json.Marshal(s) // cannot fail for a string
			if err != nil {
				return append(dst, `""`...)
			}
			return printable.AppendJSON(dst, b)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}
