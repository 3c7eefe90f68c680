package selector

import (
	"strings"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

var (
	escapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
	parts   = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, ":", `\:`)
)

// Quote returns the pattern that matches only s, a name without ':'.
func Quote(s string) string { return unbraced(escapes.Replace(s)) }

// QuotePath returns the part of a selector that names only this path.
func QuotePath(path string) string { return unbraced(parts.Replace(path)) }

// QuoteFunction returns the part of a selector that names only this function: not one
// whose instruction lies behind a '+', nor an address, nor the line of a file.
func QuoteFunction(name string) string {
	q := escapes.Replace(name)
	if f, _, ok := cutOffset(name); ok {
		q = escapes.Replace(f) + `\` + name[len(f):]
	}
	if strings.HasPrefix(q, "0x") {
		q = `\` + q
	}
	if colon := lastColon(q); isLine(q, colon) {
		q = q[:colon] + `\` + q[colon:]
	}
	return unbraced(q)
}

// Function returns the selector of one function of the object at a path. kind is
// "uprobe" or "uretprobe".
func Function(kind, path, name string) string {
	return kind + ":" + QuotePath(path) + ":" + function(name)
}

// Kernel returns the selector of one function of the kernel itself or of a module, or of one event of a system.
func Kernel(kind, provider, name string) string { return kind + ":" + provider + ":" + name }

// Line returns the selector of the line FILE:LINE of the object at a path.
func Line(path, line string) string {
	return reader.Uprobe.String() + ":" + QuotePath(path) + ":" + Quote(line)
}

// function is QuoteFunction for what may be an instruction, FUNC+OFFSET.
func function(name string) string {
	if f, _, ok := cutOffset(name); ok {
		return QuoteFunction(f) + name[len(f):]
	}
	return QuoteFunction(name)
}

// Probe returns the selector of one probe of the object at a path, of any if that is
// empty.
func Probe(path, provider, name string) string {
	out := QuotePath(provider) + ":" + QuotePath(name)
	if path != "" {
		out = QuotePath(path) + ":" + out
	}
	first, _, _ := strings.Cut(out, ":")
	if IsKind(first) {
		return `\` + out
	}
	return out
}

// CutPath cuts PATH:FUNC at the first colon without a backslash; if another makes PATH
// a file, and the first one does not, at that.
func CutPath(s string) (path, function string, ok bool) {
	first := -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ':':
			if first < 0 {
				first = i
			}
			if info, err := procfs.Stat(s[:i]); err == nil && info.Mode().IsRegular() {
				return s[:i], s[i+1:], true
			}
		}
	}
	if first < 0 {
		return s, "", false
	}
	return s[:first], s[first+1:], true
}

// lastColon returns the index of the last colon without a backslash, -1 if there is
// none.
func lastColon(s string) int {
	last := -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ':':
			last = i
		}
	}
	return last
}

// plain are the characters, beside letters and digits, that no shell gives a meaning.
const plain = "_@%+=:,./-"

// Shell returns s as one word of a shell's command line.
func Shell(s string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(plain, r))
	}
	if s != "" && strings.IndexFunc(s, special) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
