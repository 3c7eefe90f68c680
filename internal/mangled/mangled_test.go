package mangled_test

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/mangled"
)

func TestType(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"4Loud", "Loud"},
		{"St13runtime_error", "std::runtime_error"},
		{"*N12_GLOBAL__N_14LoudE", "(anonymous namespace)::Loud"},
		{"i", "int"},
		{"_ZN3foo3barEi", "foo::bar(int)"},
		{"", ""},
		{"*", "*"},
		{"not mangled", "not mangled"},
		{"_Znot", "_Znot"},
	} {
		if got := mangled.Type(c.in); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

// doubling returns the name of a tuple of pairs, each of which has the one before it
// twice: the name has a few bytes for each, and the text twice as many as for the one
// before.
func doubling(pairs int) string {
	var b strings.Builder
	b.WriteString("St5tupleISt4pairIiiE") // S_ stands for std::tuple, S0_ for std::pair, S1_ for the first pair
	for i := range pairs {
		fmt.Fprintf(&b, "S0_I%[1]s%[1]sE", reference(i+2))
	}
	return b.String() + "E"
}

// reference returns the n-th reference to a part of a name, from S_ on.
func reference(n int) string {
	if n == 0 {
		return "S_"
	}
	return "S" + strings.ToUpper(strconv.FormatInt(int64(n-1), 36)) + "_"
}

// TestBounded checks that names that would become gigabytes cost no more than others,
// and stay as they are.
func TestBounded(t *testing.T) {
	if got := mangled.Type(doubling(1)); got != "std::tuple<std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> > >" {
		t.Fatalf("a pair of pairs is %q", got)
	}
	for _, pairs := range []int{20, 30, 200} {
		name := doubling(pairs)
		for of, demangled := range map[string]func() string{
			name:                                func() string { return mangled.Type(name) },
			"*" + name:                          func() string { return mangled.Type("*" + name) },
			"_Z1f" + name:                       func() string { return mangled.Source("_Z1f" + name) },
			"_ZN1x1f" + name + "E":              func() string { return mangled.Type("_ZN1x1f" + name + "E") },
			"_Z1f" + name + "IXsr1xIT_EE1yEEvv": func() string { return mangled.Source("_Z1f" + name + "IXsr1xIT_EE1yEEvv") },
			"_Z1fIXsr1xI" + name + "EE1yEEvT_":  func() string { return mangled.Source("_Z1fIXsr1xI" + name + "EE1yEEvT_") },
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := demangled()
			runtime.ReadMemStats(&after)
			if got != of {
				t.Errorf("%.40s of %d pairs: got %d bytes, want the name itself", of, pairs, len(got))
			}
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 24<<20 { // it may be read four times
				t.Errorf("%.40s of %d pairs takes %d bytes of memory", of, pairs, bytes)
			}
		}
	}
	for _, long := range []string{strings.Repeat("4Loud", 1<<16), "_Z" + strings.Repeat("4Loud", 1<<16)} {
		if got := mangled.Type(long); got != long {
			t.Errorf("a name of %d bytes becomes one of %d", len(long), len(got))
		}
	}
}

// TestSource demangles names that the demangler itself gets wrong.
func TestSource(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		// From clang: what stands behind "sr" is not counted.
		{"_Z3addI9is_signedENSt9enable_ifIXsr2TrIT_EE5valueES2_E4typeES2_S2_", "std::enable_if<Tr<is_signed>::value, is_signed>::type add<is_signed>(is_signed, is_signed)"},
		{"_Z3addIiENSt9enable_ifIXsr9is_signedIT_EE5valueES1_E4typeES1_S1_", "std::enable_if<is_signed<int>::value, int>::type add<int>(int, int)"},
		{"_Z4add8IiEDTcmgssr1n1QIT_E1RIPS0_EE5valuefp_ES1_S1_", "decltype ((::n::Q<int>::R<int*>::value),{parm#1}) add8<int>(int*, int*)"},
		// From GCC: it is counted, as a type.
		{"_Z3addIiENSt9enable_ifIXsr2TrIT_E5valueES2_E4typeES2_S2_", "std::enable_if<Tr<int>::value, int>::type add<int>(int, int)"},
		// Both readings are possible, and differ.
		{"_ZN1a1fI1bEENSt9enable_ifIXsrNS_1cIT_EE5valueEvE4typeERS5_", ""},
		// No "sr" at all.
		{"_ZN6usr12II3barEi", ""},
		{"_ZN5usr1I3barEi", "usr1I::bar(int)"},
		{"_Z1fIXsr1@IT_EE5valueEEvv", ""},
		// Rust, of which each identifier may begin with underscores.
		{"_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h0123456789abcdefE", "std::sys::backtrace::__rust_begin_short_backtrace"},
		{"_ZN3foo4_bar17h0123456789abcdefE.llvm.123", "foo::_bar"},
		{"_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h0123456789abcdefE", "<T as core::convert::Into<U>>::into"},
		{"_RINvNtNtCs1234_3std3sys9backtrace28___rust_begin_short_backtraceFEuuE", "std::sys::backtrace::__rust_begin_short_backtrace::<fn(), ()>"},
		// C++ that looks like it.
		{"_ZN3foo4_bar17h0000000000000000E", "foo::_bar::h0000000000000000"},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		if got := mangled.Source(c.in); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.in, got, want)
		}
	}
}
