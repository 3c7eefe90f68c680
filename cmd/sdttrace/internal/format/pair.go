package format

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/spelling"
)

// appendPair appends a pair as a line of text: when it ended, how long it took, and what
// its start and its end have; below, the calls that led to each. Equal arguments stand there once, and so
// do equal texts.
// A pair that has not ended has the time of its start, and for how long it has waited.
func appendPair(dst []byte, pair *attach.Pair) []byte {
	if pair.End.Name == "" {
		dst = appendProcess(pair.Start.Time.AppendFormat(dst, "15:04:05.000000"), &pair.Start)
		dst = AppendDuration(append(dst, " latency>"...), pair.Took)
		dst = append(appendFired(dst, &pair.Start), " -> has not ended"...)
		return append(appendCalls(dst, &pair.Start), '\n')
	}
	dst = appendProcess(pair.End.Time.AppendFormat(dst, "15:04:05.000000"), &pair.Start)
	dst = AppendDuration(append(dst, " latency="...), pair.Took)
	dst = append(appendFired(dst, &pair.Start), " ->"...)
	if pair.Start.PID != pair.End.PID || pair.Start.Comm != pair.End.Comm {
		dst = appendProcess(dst, &pair.End)
	}
	end := pair.End
	end.Args = slices.DeleteFunc(newArgs(pair), func(a event.Arg) bool { return repeats(&pair.Start, &a) })
	dst = appendFired(dst, &end)
	if pair.Start.Stack != nil && pair.End.Stack != nil {
		dst = append(appendCalls(dst, &pair.Start), "\n      ->"...)
	}
	return append(appendCalls(dst, &pair.End), '\n')
}

// newArgs returns the arguments of the end that are not the start's as well.
func newArgs(pair *attach.Pair) (args []event.Arg) {
	for i := range pair.End.Args {
		known := slices.IndexFunc(pair.Start.Args, func(a event.Arg) bool { return a.Name == pair.End.Args[i].Name })
		if known < 0 || !bytes.Equal(AppendValue(nil, &pair.Start.Args[known]), AppendValue(nil, &pair.End.Args[i])) {
			args = append(args, pair.End.Args[i])
		}
	}
	return args
}

// repeats reports whether an argument is a text that an event has under another name, as statements are.
func repeats(ev *event.Event, a *event.Arg) bool {
	text, ok := a.Value.(string)
	return ok && text != "" && slices.ContainsFunc(ev.Args, func(b event.Arg) bool { return b.Value == any(text) })
}

// PickPair makes one event of a pair, with the parts that --fields names: the time of its end, the
// process of its start, and the arguments of both, with latency in front.
func (f Fields) PickPair(pair *attach.Pair, readable bool) (*Picked, error) {
	p, took := &Picked{Event: pair.Start}, any(pair.Took)
	ended := pair.End.Name != ""
	if readable {
		text := string(AppendDuration(nil, pair.Took))
		if !ended {
			text = ">" + text
		}
		took = shown{text, took}
	}
	if ended {
		p.Time, p.Stack = pair.End.Time, pair.End.Stack
	}
	p.Args = append(append([]event.Arg{{Name: fieldLatency, Value: took}}, pair.Start.Args...), newArgs(pair)...)
	for _, name := range f {
		has := name == fieldArgs
		if !slices.Contains(FieldNames, name) {
			var a event.Arg
			if a, has = argumentAt(p.Args, name); !has && ended {
				var names []string
				for i := range p.Args {
					names = append(names, p.Args[i].Name)
				}
				return nil, fmt.Errorf("--fields: the pair has no argument %s: it has %s%s", name, strings.Join(names, ", "), spelling.Nearly(name, append(names, FieldNames...)))
			}
			p.named = append(p.named, a)
		}
		p.has = append(p.has, has)
	}
	return p, nil
}

// argumentAt returns the argument at a path, such as peer.port.
func argumentAt(args []event.Arg, path string) (event.Arg, bool) {
	for _, a := range args {
		if a.Name == path {
			return a, true
		}
		if rest, ok := strings.CutPrefix(path, a.Name+"."); ok {
			if fields, ok := a.Value.(event.Struct); ok {
				inner, ok := argumentAt(fields, rest)
				inner.Name = path
				return inner, ok
			}
		}
	}
	return event.Arg{}, false
}

func appendPairJSON(dst []byte, pair *attach.Pair) []byte {
	return append(pair.AppendJSON(dst), '\n')
}
