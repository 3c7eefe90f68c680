package watch

import "testing"

func TestParseUprobeEvent(t *testing.T) {
	for _, test := range []struct {
		line, event, path string
		offset            uint64
		ok                bool
	}{
		{"p:sdt_a/b /usr/lib/x.so:0x0000000000001130 arg1=%di:s32", "sdt_a/b", "/usr/lib/x.so", 0x1130, true},
		{"p:a/b /x y/z:0x10(0x2000) arg1=%di", "a/b", "/x y/z", 0x10, true},
		{"p:a/b /x:y:0x10", "a/b", "/x:y", 0x10, true},
		{"r:a/b /x:0xff", "a/b", "/x", 0xff, true},
		{"", "", "", 0, false},
		{"p:a /x:0x10", "", "", 0, false},
		{"p:a/b /x", "", "", 0, false},
		{"q:a/b /x:0x1", "", "", 0, false},
		{"p:a/b /x:0xzz", "a/b", "/x", 0, false},
	} {
		event, path, offset, ok := parseUprobeEvent(test.line)
		if ok != test.ok || ok && (event != test.event || path != test.path || offset != test.offset) {
			t.Errorf("%q: got %q, %q, %#x, %t", test.line, event, path, offset, ok)
		}
	}
}
