package event

import (
	"strconv"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

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
// name, "kind": "uprobe", "uretprobe", "kprobe", "kretprobe", "fentry", "fexit" or
// "tracepoint". "stack" is that of [Stack.AppendJSON], and
// absent if the session does not ask for stacks; "stack_error" says why it is null,
// "truncated" why callers are missing behind its last frame.
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// AppendJSON appends to dst what MarshalJSON returns.
func (e *Event) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"time":"`...)
	dst = e.Time.AppendFormat(dst, printable.TimeFormat)
	dst = append(dst, `","pid":`...)
	dst = appendID(dst, e.PID)
	dst = append(dst, `,"tid":`...)
	dst = appendID(dst, e.TID)
	for _, f := range [...]struct{ key, value string }{{"comm", e.Comm}, {"provider", e.Provider}, {"name", e.Name}} {
		dst = append(append(append(dst, `,"`...), f.key...), `":`...)
		dst = printable.AppendString(dst, f.value)
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
	return append(e.appendParts(dst), '}')
}

// appendID appends the number of a process or thread, null if it has none.
func appendID(dst []byte, id int) []byte {
	if id == 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, int64(id), 10)
}
