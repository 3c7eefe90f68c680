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
			name:                   func() string { return mangled.Type(name) },
			"*" + name:             func() string { return mangled.Type("*" + name) },
			"_Z1f" + name:          func() string { return mangled.Source("_Z1f" + name) },
			"_ZN1x1f" + name + "E": func() string { return mangled.Type("_ZN1x1f" + name + "E") },
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := demangled()
			runtime.ReadMemStats(&after)
			if got != of {
				t.Errorf("%.40s of %d pairs: got %d bytes, want the name itself", of, pairs, len(got))
			}
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 8<<20 {
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
