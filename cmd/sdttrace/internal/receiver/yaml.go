package receiver

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/printable"
)

// Interval is the least time between two deliveries, and Around the most events that a snapshot has
// before the one that it is of, or after.
const (
	Interval = 10 * time.Millisecond
	Around   = 10_000
)

// Target returns the processes that are traced, without the braces around them.
func Target(t *attach.Target) string {
	var out []string
	add := func(name string, value any, given bool) {
		if given {
			out = append(out, name+": "+Quoted(value))
		}
	}
	if len(t.PIDs) > 0 {
		out = append(out, "pids: "+strings.ReplaceAll(fmt.Sprint(t.PIDs), " ", ", "))
	}
	add("children", t.Children, t.Children)
	add("comm", t.Comm, t.Comm != "")
	add("exe", t.Exe, t.Exe != "")
	add("cgroup", t.Cgroup, t.Cgroup != "")
	add("container", t.Container, t.Container != "")
	add("pod", t.Pod, t.Pod != "")
	return strings.Join(out, ", ")
}

// plain leaves characters as they are that JSON for pages escapes.
var plain = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", "$", "$$")

// Quoted returns a text, a list of texts or a number as JSON has it, which YAML understands as well;
// the collector takes a $ for a variable unless it is doubled.
func Quoted(value any) string {
	var out []byte
	switch v := value.(type) {
	case string:
		out = printable.AppendString(nil, v)
	case []string:
		out = append(out, '[')
		for i, text := range v {
			if i > 0 {
				out = append(out, ", "...)
			}
			out = printable.AppendString(out, text)
		}
		out = append(out, ']')
	default:
		out = fmt.Append(nil, v)
	}
	return plain.Replace(string(out))
}
