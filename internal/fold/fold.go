package fold

import (
	"bytes"

	"github.com/go-usdt/usdt/internal/mangled"
)

// Function is a function of texts.
type Function struct {
	Name string
	// Many says that many texts have one result, so that groups have to be made of the
	// results. Otherwise they can be made of the texts.
	Many bool

	of func(dst, text []byte) []byte
}

// functions are the functions by their names.
var functions = map[string]*Function{
	"sql":  {"sql", true, SQL},
	"word": {"word", true, func(dst, text []byte) []byte { return append(dst, firstWord(text)...) }},
	"cxx":  {"cxx", false, func(dst, text []byte) []byte { return append(dst, mangled.Type(string(text))...) }},
}

// firstWord returns what stands before the first blank behind a word, such as the name of a command.
func firstWord(text []byte) []byte {
	if words := bytes.Fields(text[:min(len(text), 1<<10)]); len(words) > 0 {
		return words[0]
	}
	return nil
}

// Append appends the function's result for a text.
func (f *Function) Append(dst, text []byte) []byte { return f.of(dst, text) }

// Of returns the function of a name, nil if there is none.
func Of(name string) *Function { return functions[name] }
