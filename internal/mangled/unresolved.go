package mangled

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// The demangler counts a template's name behind "sr" ("Tr" of "sr2TrIT_EE5value", which
// is Tr<T>::value) among the parts to which later ones refer. Neither compilers nor
// c++filt do, and each reference behind it then stands for the part before the right
// one. A name is therefore changed before it is read, and what has been read is changed
// back. Compilers disagree about what follows "sr": GCC writes and counts a type, so
// sizeof(Tr<T>).value is read, and clang does as the ABI says, so marker(Tr<T>).value
// is. No compiler writes either.
const (
	marker = "@"
	gcc    = "dtst"
	clang  = "dtcl1" + marker
)

// unresolved is where a name may begin whose scope is a template.
var unresolved = regexp.MustCompile(`sr[1-9N]`)

// Limits: on the places that are looked at in a symbol, and on the parts of a name that
// are copied. Parts refer to others, so a short name may have very many.
const (
	maxUnresolved = 16
	maxParts      = 1 << 14
)

// toString returns what a symbol stands for, ok false if that is not certain.
func toString(symbol string, options []demangle.Option) (text string, ok bool) {
	found := unresolved.FindAllStringIndex(symbol, maxUnresolved+1)
	if len(found) > maxUnresolved {
		return "", false
	}
	found = slices.DeleteFunc(found, func(at []int) bool {
		if symbol[at[1]-1] != 'N' && !scoped(symbol[at[1]-1:]) {
			return true
		}
		// Other letters break a name, except within an identifier.
		_, ok := plain(symbol[:at[0]]+"zz"+symbol[at[0]+2:], options)
		return ok
	})
	if len(found) == 0 {
		return plain(symbol, options)
	}
	asGCC, okGCC := reread(symbol, found, gcc, options)
	asClang, okClang := reread(symbol, found, clang, options)
	if okGCC && okClang && asGCC != asClang {
		return "", false
	}
	return cmp.Or(asGCC, asClang), okGCC || okClang
}

// scoped reports whether names lead to one with arguments of a template.
func scoped(s string) bool {
	for s != "" && s[0] >= '1' && s[0] <= '9' {
		if _, s = identifier(s); s == "" {
			return false
		}
	}
	return strings.HasPrefix(s, "I")
}

// reread returns what a symbol stands for if one compiler's way of changing it has taken
// the place of each "sr".
func reread(symbol string, found [][]int, way string, options []demangle.Option) (text string, ok bool) {
	if strings.Contains(symbol, marker) {
		return "", false
	}
	changed, last := "", 0
	for _, at := range found {
		changed += symbol[last:at[0]] + way
		last = at[0] + len("sr")
		if way == clang && symbol[last] == 'N' { // a type and names follow
			changed += "st"
			last++
		}
	}
	ast, err := demangle.ToAST(changed+symbol[last:], options...)
	if err != nil {
		return "", false
	}
	left := maxParts
	restored := ast.Copy(restore, func(demangle.AST) bool { left--; return left < 0 })
	if restored == nil || left < 0 {
		return "", false
	}
	text = demangle.ASTToString(restored, options...)
	if strings.Contains(text, marker) {
		return "", false
	}
	return text, true
}

// restore returns the name for which a member of a call of marker, or of a sizeof,
// stands, nil for all else.
func restore(n demangle.AST) demangle.AST {
	b, ok := n.(*demangle.Binary)
	if !ok {
		return nil
	}
	levels := []demangle.AST{b.Left}
	if call, ok := b.Left.(*demangle.Binary); ok {
		f, _ := call.Left.(*demangle.Name)
		list, _ := call.Right.(*demangle.ExprList)
		if f == nil || list == nil || f.Name != marker || len(list.Exprs) == 0 {
			return nil
		}
		levels = list.Exprs
	}
	scope := levels[0]
	if of, ok := scope.(*demangle.Unary); ok && of.SizeofType {
		scope = of.Expr
	} else if len(levels) == 1 && scope == b.Left {
		return nil
	}
	for _, level := range append(slices.Clone(levels[1:]), b.Right) {
		scope = &demangle.Qualified{Scope: scope, Name: level}
	}
	return scope
}
