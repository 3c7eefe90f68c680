package bind

import "testing"

// TestWritten spells names as programs have them.
func TestWritten(t *testing.T) {
	for _, c := range []struct{ unit, text, want string }{
		{"java", "java.util.Map$Entry", "java/util/Map$Entry"},
		{"java", "java/util/Map$Entry", "java/util/Map$Entry"},
		{"java", "T", "T"},
		{"cxx", "Loud", "4Loud"},
		{"cxx", "4Loud", "4Loud"},
		{"cxx", "shop::Gone", "N4shop4GoneE"},
		{"cxx", "std::runtime_error", "St13runtime_error"},
		{"cxx", "std::filesystem::__cxx11::filesystem_error", "NSt10filesystem7__cxx1116filesystem_errorE"},
		{"cxx", "i", "i"},
		{"cxx", "int", "i"},
		{"cxx", "char const*", "PKc"},
		{"cxx", "std::vector<int>", ""},
		{"cxx", "std::__cxx11::basic_string<char>", ""},
	} {
		if got, err := written[c.unit](c.text); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %s: %q, %v, want %q", c.unit, c.text, got, err, c.want)
		}
	}
}
