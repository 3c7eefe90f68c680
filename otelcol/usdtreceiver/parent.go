package usdtreceiver

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap"

	"github.com/go-usdt/usdt/event"
)

// parent names the arguments that say to which span of the service's own trace something belongs: one
// with a W3C traceparent, or the identifiers of the trace and of the span.
type parent struct {
	traceparent string
	trace       []string // one argument, or two with its high and its low 64 bits
	span        string   // empty for none
}

func (s *Spans) joins() parent { return parent{s.Parent, s.TraceID, s.SpanID} }
func (l *Logs) joins() parent  { return parent{l.Parent, l.TraceID, l.SpanID} }

// validate returns why the names contradict each other.
func (p parent) validate() error {
	switch {
	case p.traceparent != "" && len(p.trace) > 0:
		return errors.New("trace_id: parent has the trace")
	case len(p.trace) > 2:
		return fmt.Errorf("trace_id: %d arguments are more than the high and the low half", len(p.trace))
	case p.span != "" && len(p.trace) == 0:
		return errors.New("span_id belongs to trace_id")
	}
	return nil
}

// check warns of arguments that no probe of a session has. Probes that appear later may have them.
func (p parent) check(e *env, s interface{ CheckArgument(string) error }) {
	for _, name := range append([]string{p.traceparent, p.span}, p.trace...) {
		if name == "" {
			continue
		}
		if err := s.CheckArgument(name); err != nil {
			e.log().Warn("Nothing can be joined to the trace of the service.", zap.Error(err))
		}
	}
}

// in returns the trace and the span that the arguments name. The span is empty if they name none, and ok
// false if they name no trace either.
func (p parent) in(of ...[]event.Arg) (trace pcommon.TraceID, span pcommon.SpanID, ok bool) {
	if p.traceparent != "" {
		text, _ := argument(p.traceparent, of).(string)
		m := traceParent.FindStringSubmatch(text)
		if m == nil {
			return trace, span, false
		}
		_, _ = hex.Decode(trace[:], []byte(m[1])) // the expression knows the digits
		_, _ = hex.Decode(span[:], []byte(m[2]))
		return trace, span, !trace.IsEmpty() && !span.IsEmpty()
	}
	switch len(p.trace) {
	case 1:
		ok = identifier(trace[:], argument(p.trace[0], of))
	case 2:
		ok = identifier(trace[:8], argument(p.trace[0], of)) && identifier(trace[8:], argument(p.trace[1], of))
	}
	if !ok || trace.IsEmpty() {
		return pcommon.TraceID{}, span, false
	}
	if p.span != "" && !identifier(span[:], argument(p.span, of)) {
		span = pcommon.SpanID{}
	}
	return trace, span, true
}

// traceParent is the syntax of a traceparent: www.w3.org/TR/trace-context, 3.2.2.
var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}`)

// argument returns the first value that an argument of a name has, nil if there is none.
func argument(name string, of [][]event.Arg) any {
	for _, args := range of {
		for i := range args {
			if args[i].Name == name && args[i].Value != nil {
				return args[i].Value
			}
		}
	}
	return nil
}

// identifier sets an identifier of 8 or 16 bytes, and reports whether the value is one: hexadecimal
// digits, as of a UUID also with hyphens, bytes, or an integer. The trace of a service whose
// identifiers have 64 bits has zeros in front of them (www.w3.org/TR/trace-context, 5.2.2).
func identifier(to []byte, value any) bool {
	number := func(n uint64) bool {
		binary.BigEndian.PutUint64(to[len(to)-8:], n)
		return true
	}
	switch v := value.(type) {
	case uint64:
		return number(v)
	case int64:
		return number(uint64(v))
	case string:
		digits, err := hex.DecodeString(strings.ReplaceAll(v, "-", ""))
		if err != nil {
			return exactly(to, []byte(v))
		}
		return exactly(to, digits) || len(digits) == 8 && exactly(to[len(to)-8:], digits)
	case []byte:
		return exactly(to, v)
	case event.Hex:
		return exactly(to, v)
	case event.Struct: // the words of an untyped argument, as memory has them
		return len(to) == 16 && words(to, v)
	case event.List:
		return list(to, v)
	}
	return false
}

func exactly(to, from []byte) bool { return len(from) == len(to) && copy(to, from) == len(to) }

func words(to []byte, of event.Struct) bool {
	if len(of) != 2 {
		return false
	}
	low, ok1 := of[0].Value.(uint64)
	high, ok2 := of[1].Value.(uint64)
	binary.LittleEndian.PutUint64(to, low)
	binary.LittleEndian.PutUint64(to[8:], high)
	return ok1 && ok2
}

// list sets an identifier of bytes, or of its two halves.
func list(to []byte, of event.List) bool {
	if len(to) == 16 && len(of) == 2 {
		return identifier(to[:8], of[0].Value) && identifier(to[8:], of[1].Value)
	}
	if len(of) != len(to) {
		return false
	}
	for i := range of {
		n, ok := of[i].Value.(uint64)
		if !ok || n > 0xff {
			return false
		}
		to[i] = byte(n)
	}
	return true
}
