// Package mangled turns symbols and names of types of C++ and Rust into names as sources
// have them. The work for a name, and the length of its result, are bounded.
package mangled

import (
	"math/bits"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Names longer than maxLength bytes, a power of two, stay as they are. So do names that
// grow to more: parts of a name may stand for others, so that a short one can describe
// gigabytes.
const minLength, maxLength = 10, 16

// Source returns a symbol as its source has it. Names that grow beyond what
// compilers make stay as they are.
func Source(symbol string, options ...demangle.Option) string {
	if !Is(symbol) {
		return symbol
	}
	if text, ok := bounded(symbol, len(symbol), options); ok {
		return text
	}
	return symbol
}

// Type returns the name of a C++ type, "4Loud" as std::type_info has it, as its source
// has it, and symbols as Source does. Other names, and names that grow beyond what compilers
// make, stay as they are.
func Type(name string) string {
	if name == "" || Is(name) {
		return Source(name)
	}
	// GCC marks types that are compared by their address, which are local to one file, by a '*'.
	plain := strings.TrimPrefix(name, "*")
	const of = "typeinfo name for " // what _ZTS stands for
	if text, ok := bounded("_ZTS"+plain, len(plain), nil); ok {
		if typ, ok := strings.CutPrefix(text, of); ok {
			return typ
		}
	}
	return name
}

// bounded demangles a symbol. It returns false if the symbol is none, or if a name of
// length bytes should not become as long.
func bounded(symbol string, length int, options []demangle.Option) (text string, ok bool) {
	if length > 1<<maxLength {
		return "", false
	}
	// A compiler's names grow to a few times their length; one that grows to more than
	// 16 times its length would cost as much.
	most := min(max(bits.Len(uint(length))+4, minLength), maxLength)
	text, ok = toString(symbol, append(options[:len(options):len(options)], demangle.MaxLength(most)))
	return text, ok && len(text) < 1<<most // a longer one has been cut
}

// language is how a language's symbols begin, and what makes names of them.
type language struct {
	prefix string
	source func(symbol string, options []demangle.Option) (text string, ok bool)
}

// languages are the languages whose symbols are read.
var languages = []language{
	{"_Z", cxx}, // also Rust's symbols before it had a scheme of its own
	{"_R", rustV0},
}

// languageOf returns the language that a symbol may belong to, nil if there is none.
func languageOf(symbol string) *language {
	for i := range languages {
		if strings.HasPrefix(symbol, languages[i].prefix) {
			return &languages[i]
		}
	}
	return nil
}

// Is reports whether a symbol may be one of a language that mangles its names.
func Is(symbol string) bool { return languageOf(symbol) != nil }
