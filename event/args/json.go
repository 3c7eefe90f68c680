package args

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-usdt/usdt/internal/printable"
)

// errUTF8 is the entry in an event's "errors" for a string that JSON cannot hold.
var errUTF8 = errors.New("invalid UTF-8 replaced by U+FFFD")

// MarshalJSON returns the fields as one JSON object, as the fields of an
// event, or null for a nil record.
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
		dst = append(printable.AppendString(dst, s[i].Name), ':')
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
		dst = append(printable.AppendString(dst, path), ':')
		dst = printable.AppendString(dst, err.Error())
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
	if a.Err == nil && !hasJSON(a.Value) {
		return fmt.Errorf("JSON holds no %T", a.Value)
	}
	s, ok := a.Value.(string)
	if !ok || utf8.ValidString(s) {
		return a.Err
	}
	if a.Err != nil {
		return fmt.Errorf("%w; %w", a.Err, errUTF8)
	}
	return errUTF8
}

// hasJSON reports whether AppendJSON knows a value, or there is none.
func hasJSON(v any) bool {
	switch v.(type) {
	case nil, uint64, int64, bool, float64, string, time.Duration, time.Time, netip.Addr, []byte, Hex, Struct, List, interface{ AppendJSON(dst []byte) []byte }:
		return true
	}
	return false
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
		return printable.AppendString(dst, v)
	case time.Duration:
		return strconv.AppendInt(dst, int64(v), 10)
	case time.Time:
		return append(v.AppendFormat(append(dst, '"'), printable.TimeFormat), '"')
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
	case interface{ AppendJSON(dst []byte) []byte }: // an event.Stack
		return v.AppendJSON(dst)
	}
	return append(dst, "null"...)
}
