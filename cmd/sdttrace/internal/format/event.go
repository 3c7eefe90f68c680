package format

import (
	"encoding/hex"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

// AppendText appends an event as a line of text.
func AppendText(dst []byte, ev *event.Event) []byte {
	dst = appendTime(dst, ev.Time)
	return appendCalls(appendFired(appendProcess(dst, ev), ev), ev)
}

// appendTime appends the time of day.
func appendTime(dst []byte, at time.Time) []byte { return at.AppendFormat(dst, "15:04:05.000000") }

// appendCalls appends the calls that led to an event, if it has them.
func appendCalls(dst []byte, ev *event.Event) []byte {
	if ev.Stack == nil {
		return dst
	}
	return AppendStack(dst, ev.Stack)
}

// appendProcess appends the process in which an event fired.
func appendProcess(dst []byte, ev *event.Event) []byte {
	dst = printable.Append(append(dst, ' '), ev.Comm)
	return appendPID(append(dst, '/'), ev.PID)
}

// appendPID appends the number of a process or thread.
func appendPID(dst []byte, id int) []byte {
	if id != 0 {
		return strconv.AppendInt(dst, int64(id), 10)
	}
	return append(dst, "?(no PID here)"...)
}

// appendFired appends what fired, and its arguments.
func appendFired(dst []byte, ev *event.Event) []byte {
	dst = appendProbe(append(dst, ' '), ev)
	if len(ev.Args) > 0 {
		dst = appendArgs(append(dst, ' '), ev.Args)
	}
	return dst
}

// appendProbe appends what fired.
func appendProbe(dst []byte, ev *event.Event) []byte {
	if ev.Probe != nil {
		dst = append(dst, KindPrefix(ev.Probe)...)
	}
	dst = printable.Append(dst, ev.Provider)
	return printable.Append(append(dst, ':'), ev.Name)
}

// appendArgs appends arguments, with blanks between them, or that there are none in a nil
// record.
func appendArgs(dst []byte, args []event.Arg) []byte {
	if event.Struct(args).IsNil() {
		return append(dst, "nil"...)
	}
	for i := range args {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = appendNamed(dst, &args[i])
	}
	return dst
}

func appendNamed(dst []byte, a *event.Arg) []byte {
	return AppendValue(append(printable.Append(dst, a.Name), '='), a)
}

// AppendStack appends a stack as text: a line for each function, below that of the
// event.
func AppendStack(dst []byte, s *event.Stack) []byte {
	for _, f := range s.Frames() {
		dst = printable.Append(append(dst, "\n\t"...), f.String())
	}
	switch {
	case s.Err == nil:
	case len(s.PCs) > 0:
		dst = append(printable.Append(append(dst, "\n\t[truncated: "...), s.Err.Error()), ']')
	default:
		dst = append(printable.Append(append(dst, "\n\t?("...), s.Err.Error()), ')')
	}
	return dst
}

// KindPrefix returns the prefix of selectors for functions; probes have none.
func KindPrefix(p *reader.Probe) string {
	if p.Kind == reader.USDT {
		return ""
	}
	return p.Kind.String() + ":"
}

func AppendValue(dst []byte, a *event.Arg) []byte {
	switch v := a.Value.(type) {
	case nil:
		if a.Err == nil {
			return append(dst, "nil"...)
		}
		return append(printable.Append(append(dst, "?("...), a.Err.Error()), ')')
	case string:
		dst = strconv.AppendQuote(dst, v)
	case []byte:
		dst = strconv.AppendQuote(append(dst, 'b'), string(v))
	case event.Hex:
		if len(v) == 0 {
			dst = append(dst, `""`...)
		}
		dst = hex.AppendEncode(dst, v)
	case uint64:
		if v > math.MaxUint32 && isUntyped(a.Name) {
			dst = append(dst, "0x"...)
			dst = strconv.AppendUint(dst, v, 16)
		} else {
			dst = strconv.AppendUint(dst, v, 10)
		}
	case float64:
		dst = printable.AppendFloat(dst, v)
	case time.Time:
		dst = v.AppendFormat(dst, time.RFC3339Nano)
	case netip.Addr:
		if !v.IsValid() {
			return append(dst, "none"...)
		}
		dst = v.AppendTo(dst)
	case event.Struct:
		dst = append(dst, '{')
		for i := range v {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = appendNamed(dst, &v[i])
		}
		dst = append(dst, '}')
	case event.List:
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = AppendValue(dst, &v[i])
		}
		dst = append(dst, ']')
	default: // names of enumerations and of Go's types are what a file says
		dst = printable.Append(dst, fmt.Sprint(v))
	}
	if a.Err != nil {
		dst = append(dst, "..."...)
	}
	return dst
}

// isUntyped reports whether the argument is named only by its position. Such an
// argument is most often an address if it is wide.
func isUntyped(name string) bool {
	digits, ok := strings.CutPrefix(name, "arg")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
