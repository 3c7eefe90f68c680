package pagesource

import (
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/fold"
)

// statements are the names of arguments that are statements: their literals do not matter.
var statements = []string{"query", "statement", "sql"}

// group returns the text by which the times of pairs are added up: of the key that belongs to the
// span, or else of the first text that the start has, or the end. It is empty if there is none, and "" in quotes
// for a text without characters.
func (f *Filler) group(pair *attach.SpanPair, end *event.Event) string {
	args := slices.Concat(pair.Start.Args, end.Args)
	key := ""
	if pair.Span < len(f.By) {
		key = f.By[pair.Span]
	}
	if key == "" {
		i := slices.IndexFunc(args, func(a event.Arg) bool {
			text, ok := a.Value.(string)
			return ok && a.Err == nil && text != ""
		})
		if i < 0 {
			return ""
		}
		if key = args[i].Name; slices.Contains(statements, key) {
			key = "sql(" + key + ")"
		}
	}
	name, ofText := strings.CutSuffix(key, ")")
	function, name, _ := strings.Cut(name, "(")
	if !ofText {
		name = key
	}
	i := slices.IndexFunc(args, func(a event.Arg) bool { return a.Name == name })
	if i < 0 {
		return ""
	}
	text, isText := args[i].Value.(string)
	if !isText {
		text = name + "=" + string(format.AppendValue(nil, &args[i]))
	}
	if by := fold.Of(function); ofText && by != nil {
		text = string(by.Append(nil, []byte(text)))
	}
	if text == "" {
		return `""`
	}
	return text
}
