package mangled

import (
	"slices"
	"strings"
)

// invented are words of names that need not be in a symbol: the ones that demanglers write for
// abbreviations, built-in types, operators and what has no name.
var invented = strings.Fields(`
std allocator basic_string string char_traits basic_istream basic_ostream basic_iostream istream ostream iostream
void wchar_t bool char signed unsigned short int long __int128 float double __float128 decimal32 decimal64 decimal128 half
char8_t char16_t char32_t decltype nullptr_t auto _Float16 _Float32 _Float64 _Float128 bfloat16_t bitint
ull abi const volatile restrict complex imaginary imag noexcept throw transaction_safe __vector requires this typename template class typeid
anonymous namespace unnamed type lambda string literal default argument arg parameter block literal initializer structured binding
vtable VTT typeinfo name for fn guard variable reference temporary init function covariant return thunk non virtual to construction in
java resource hidden alias TLS wrapper local transaction clone non module entity global constructors destructors keyed
operator new delete co_await alignof sizeof static_cast dynamic_cast const_cast reinterpret_cast true false nullptr NULL typeid pack expansion
str usize isize closure shim impl dyn mut unsafe extern as i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f16 f32 f64 f128 constant ptr
`)

// Copied reports whether a symbol has a word, of letters, digits and underscores, if its name in the
// source has the word.
func Copied(word string) bool {
	number := word == "" || word[0] >= '0' && word[0] <= '9' // perhaps with a suffix, as in 1l
	return !number && !slices.ContainsFunc(invented, func(w string) bool { return strings.Contains(w, word) })
}
