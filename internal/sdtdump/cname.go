package sdtdump

import (
	"fmt"
	"strings"
)

// cKeywords are the words of C23 (ISO/IEC 9899:2024, 6.4.1) that are no identifiers, the
// words of C++ (headers may be included there), and words that GNU C defines or reserves.
var cKeywords = func() map[string]bool {
	words := map[string]bool{}
	for _, word := range strings.Fields(`
alignas alignof auto bool break case char const constexpr continue default do double else enum
extern false float for goto if inline int long nullptr register restrict return short signed
sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual union
unsigned void volatile while

and and_eq asm bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield
compl concept consteval constinit const_cast decltype delete dynamic_cast explicit export friend
mutable namespace new noexcept not not_eq operator or or_eq private protected public
reinterpret_cast requires static_cast template this throw try typeid typename using virtual
wchar_t xor xor_eq

i386 linux unix NULL`) {
		words[word] = true
	}
	return words
}()

// cName returns s as an identifier that C and C++ let a program declare.
func cName(s string) string {
	name := identifier(s)
	switch {
	case cKeywords[name]:
		return name + "_"
	case strings.HasPrefix(name, "__"), len(name) > 1 && name[0] == '_' && 'A' <= name[1] && name[1] <= 'Z':
		return "x" + name // reserved, and some are keywords
	}
	return name
}

// cNames are the names of one scope so far, by what each stands for.
type cNames map[string]string

// unique returns the name of what s is, with a number if something else has it.
func (used cNames) unique(name, what string) string {
	out := name
	for n := 1; ; n++ {
		if other, taken := used[out]; !taken || other == what {
			used[out] = what
			return out
		}
		out = fmt.Sprintf("%s_%d", name, n)
	}
}
