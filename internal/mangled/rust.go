package mangled

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// rust is a symbol of Rust before its scheme of names of its own: identifiers, then a
// hash.
var rust = regexp.MustCompile(`^_ZN.*17(h[0-9a-f]{16})E(\.|$)`)

// plain returns what the demangler says about a symbol.
func plain(symbol string, options []demangle.Option) (text string, ok bool) {
	if l := languageOf(symbol); l != nil {
		return l.source(symbol, options)
	}
	return "", false
}

// cxx reads symbols of C++, and of Rust before its own scheme.
func cxx(symbol string, options []demangle.Option) (text string, ok bool) {
	if hash := rust.FindStringSubmatch(symbol); hash != nil {
		text, err := demangle.ToString(underscored(symbol), options...)
		if err == nil && !strings.Contains(text, "::"+hash[1]) { // which C++ has
			return text, true
		}
	}
	text, err := demangle.ToString(symbol, options...)
	return text, err == nil
}

// rustV0 reads symbols of Rust's own scheme.
func rustV0(symbol string, options []demangle.Option) (text string, ok bool) {
	text, err := demangle.ToString(separated(symbol), options...)
	return strings.TrimSuffix(nameless.Replace(text), "::"), err == nil
}

// nameless leaves out the separator in front of what has no name, as constructors of variants
// (Option::Some) have none in their namespace.
var nameless = strings.NewReplacer("::,", ",", "::>", ">", "::)", ")", "::]", "]", ":: as ", " as ")

// underscored returns a symbol of Rust with another underscore before each identifier that
// begins with one, since the demangler takes one for a separator.
func underscored(symbol string) string {
	var b strings.Builder
	s := strings.TrimPrefix(symbol, "_ZN")
	for b.WriteString("_ZN"); s != "" && s[0] >= '1' && s[0] <= '9'; {
		var id string
		if id, s = identifier(s); id == "" {
			return symbol
		}
		if id[0] == '_' {
			id = "_" + id
		}
		b.WriteString(strconv.Itoa(len(id)) + id)
	}
	return b.String() + s
}

// identifier returns the identifier at the start of s, which its length precedes, and
// what follows, nothing of either if s has less.
func identifier(s string) (id, rest string) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	n, err := strconv.Atoi(s[:digits])
	if err != nil || n > len(s)-digits {
		return "", ""
	}
	return s[digits : digits+n], s[digits+n:]
}
