package event

import (
	"encoding/base64"
	"encoding/hex"
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

// errUTF8 is the entry in an event's "errors" for a string that JSON cannot hold.
var errUTF8 = errors.New("invalid UTF-8 replaced by U+FFFD")

// timeFormat is RFC 3339 with all nine digits of the nanoseconds.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// MarshalJSON returns the event as one JSON object:
//
//	{"time": …, "pid": …, "tid": …, "comm": …, "provider": …, "name": …,
//	 "args": {name: value}, "errors": {name: why},
//	 "stack": [{"addr": …, "func": …}], "truncated": why, "stack_error": why}
//
// Integers are exact, also beyond 2^53; NaN, +Inf and -Inf are strings; bytes are
// base64, identifiers hexadecimal digits; durations are nanoseconds, times RFC 3339 in UTC, addresses text, or null
// for the zero address; a Struct is an object, a List an array, a pointer to nothing
// null. "args" is null if the program has fired a nil record. "errors" names what is wrong within them by its path, as "peer.host" or
// "tags[1]", and is absent if nothing is. Events of functions have, behind their
// name, "kind": "uprobe" or "uretprobe". "stack" is that of [Stack.AppendJSON], and
// absent if the session does not ask for stacks; "stack_error" says why it is null,
// "truncated" why callers are missing behind its last frame.
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// AppendJSON appends to dst what MarshalJSON returns.
func (e *Event) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"time":"`...)
	dst = e.Time.AppendFormat(dst, timeFormat)
	dst = append(dst, `","pid":`...)
	dst = appendID(dst, e.PID)
	dst = append(dst, `,"tid":`...)
	dst = appendID(dst, e.TID)
	for _, f := range [...]struct{ key, value string }{{"comm", e.Comm}, {"provider", e.Provider}, {"name", e.Name}} {
		dst = append(append(append(dst, `,"`...), f.key...), `":`...)
		dst = appendString(dst, f.value)
	}
	if e.Probe != nil && e.Probe.Kind != reader.USDT {
		dst = append(append(append(dst, `,"kind":"`...), e.Probe.Kind.String()...), '"')
	}
	args := Struct(e.Args)
	dst = args.AppendJSON(append(dst, `,"args":`...))
	key := append(dst, `,"errors":`...)
	if errors := args.AppendErrors(key); len(errors) > len(key) {
		dst = errors
	}
	if e.Stack != nil {
		dst = e.Stack.AppendJSON(append(dst, `,"stack":`...))
		dst = e.Stack.AppendError(dst)
	}
	return append(dst, '}')
}

// appendID appends the number of a process or thread, null if it has none.
func appendID(dst []byte, id int) []byte {
	if id == 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, int64(id), 10)
}

// MarshalJSON returns the fields as one JSON object, with values as [Event.MarshalJSON]
// writes them, or null for a nil record.
func (s Struct) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// AppendJSON appends to dst what MarshalJSON returns: Struct(ev.Args) gives the
// "args" of an event.
func (s Struct) AppendJSON(dst []byte) []byte {
	if s.IsNil() {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	for i := range s {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, s[i].Name), ':')
		dst = s[i].AppendJSON(dst)
	}
	return append(dst, '}')
}

// AppendErrors appends to dst one JSON object that says why fields, and values within
// them, are missing or incomplete, by their paths: {"peer.host": why, "tags[1]":
// why}. It appends nothing if all are complete.
func (s Struct) AppendErrors(dst []byte) []byte {
	if s.IsNil() {
		return dst
	}
	start := len(dst)
	for i := range s {
		dst = s[i].appendErrors(dst, start, s[i].Name)
	}
	if len(dst) > start {
		dst = append(dst, '}')
	}
	return dst
}

// appendErrors appends the errors of the argument, and of values within it, to the
// object that begins at start.
func (a *Arg) appendErrors(dst []byte, start int, path string) []byte {
	if err := a.jsonError(); err != nil {
		if len(dst) == start {
			dst = append(dst, '{')
		} else {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, path), ':')
		dst = appendString(dst, err.Error())
	}
	switch v := a.Value.(type) {
	case Struct:
		for i := range v {
			dst = v[i].appendErrors(dst, start, path+"."+v[i].Name)
		}
	case List:
		for i := range v {
			dst = v[i].appendErrors(dst, start, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	return dst
}

// MarshalJSON returns the elements' values as one JSON array.
func (l List) MarshalJSON() ([]byte, error) { return l.appendJSON(nil), nil }

func (l List) appendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i := range l {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = l[i].AppendJSON(dst)
	}
	return append(dst, ']')
}

// jsonError returns why the argument's JSON value is missing or incomplete.
func (a *Arg) jsonError() error {
	s, ok := a.Value.(string)
	if !ok || utf8.ValidString(s) {
		return a.Err
	}
	if a.Err != nil {
		return fmt.Errorf("%w; %w", a.Err, errUTF8)
	}
	return errUTF8
}

// AppendJSON appends the argument's value to dst as JSON, as in the "args" of an
// event, or null if there is none.
func (a *Arg) AppendJSON(dst []byte) []byte {
	switch v := a.Value.(type) {
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
	case Hex:
		dst = hex.AppendEncode(append(dst, '"'), v)
		return append(dst, '"')
	case Struct:
		return v.AppendJSON(dst)
	case List:
		return v.appendJSON(dst)
	case *Stack:
		return v.AppendJSON(dst)
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
