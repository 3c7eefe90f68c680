package selector

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/reader"
)

func TestMatch(t *testing.T) {
	abs, err := filepath.Abs("./srv")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		selector, path, provider, name string
		want                           bool
	}{
		{"a:b", "/bin/x", "a", "b", true},
		{"a:b", "/bin/x", "a", "bb", false},
		{"a:*", "/bin/x", "a", "", true},
		{"*:*", "", "a", "b", true},
		{"a*c*:b?", "/bin/x", "abcd", "bx", true},
		{"a*c*:b?", "/bin/x", "abd", "bx", false},
		{"a*:b?", "/bin/x", "a", "b", false},
		{"hotspot:gc__[be]*", "", "hotspot", "gc__begin", true},
		{"hotspot:gc__[!be]*", "", "hotspot", "gc__begin", false},
		{"hotspot:gc__[a-c]*", "", "hotspot", "gc__begin", true},
		{"p:[]]", "", "p", "]", true},
		{"p:{a,b*}", "", "p", "bc", true},
		{"p:{a,b*}", "", "p", "ac", false},
		{"p:x{a,{b,c}d,}", "", "p", "xcd", true},
		{"p:x{a,{b,c}d,}", "", "p", "x", true},
		{"{p,q}:{a,b}_[xy]", "", "q", "b_y", true},
		{"/usr/{bin,lib}/*:p:a", "/usr/lib/x", "p", "a", true},
		{"/usr/{bin,lib}/*:p:a", "/usr/local/x", "p", "a", false},
		{"p:\\{a,b}", "", "p", "{a,b}", true},
		{"p:{a}", "", "p", "{a}", true},
		{"p:{a,b", "", "p", "{a,b", true},
		{"p:{x{a,b}", "", "p", "{xb", true},
		{"p:{f(a,b),c}", "", "p", "f(a,b)", true},
		{"p:{lambda(int, char)#1}", "", "p", "{lambda(int, char)#1}", true},
		{"p:\\*", "", "p", "*", true},
		{"p:\\*", "", "p", "x", false},
		{"é?:n", "", "éß", "n", true},
		{"x:a:b", "/bin/x", "a", "b", true},
		{"x:a:b", "/bin/xx", "a", "b", false},
		{"/bin/x:a:b", "/bin/x", "a", "b", true},
		{"bin/x:a:b", "/bin/x", "a", "b", false},
		{"/bin/*:a:b", "/bin/y/x", "a", "b", true},
		{"libx.so.6:a:b", "/usr/lib/libx.so.6.0.30", "a", "b", true},
		{"libx.so:a:b", "/usr/lib/libx.so.6", "a", "b", true},
		{"libx.so.6:a:b", "/usr/lib/libx.so.60", "a", "b", false},
		{"libx.so.6:a:b", "/usr/lib/libx.so.6.debug", "a", "b", false},
		{"prog:a:b", "/usr/bin/prog.1", "a", "b", false},
		{"lib*.so*:a:b", "/usr/lib/libruby.so.3", "a", "b", true},
		{"/a:b/c:p:n", "/a:b/c", "p", "n", true},
		{"/a\xff/c:p:n", "/a\xff/c", "p", "n", true},
		{"/a\xff/c:p:n", "/a\xfe/c", "p", "n", false},
		{"/a\xff/*:p:n", "/a\xff/c", "p", "n", true},
		{"/a\xff/*:p:n", "/a\ufffd/c", "p", "n", false},
		{"/a[\xfe-\xff]/c:p:n", "/a\xff/c", "p", "n", true},
		{"/a?/c:p:n", "/a\xff/c", "p", "n", true},
		{"./srv:p:n", abs, "p", "n", true},
		{"./srv:p:n", "./srv", "p", "n", true},
		{"./uprobe:p:n", "./uprobe", "p", "n", true},
		{"uprobe:p:n", "/bin/p", "p", "n", false},
		{strings.Repeat("a*", 50) + "b:n", "", strings.Repeat("a", 5000), "n", false},
	} {
		s, err := Parse(tt.selector)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.selector, err)
			continue
		}
		if got := s.Match(tt.path, tt.provider, tt.name); got != tt.want {
			t.Errorf("%q matches %s:%s:%s: got %v, want %v", tt.selector, tt.path, tt.provider, tt.name, got, tt.want)
		}
		if got := s.String(); got != tt.selector {
			t.Errorf("String of %q: got %q", tt.selector, got)
		}
	}
}

func TestFunctions(t *testing.T) {
	s, err := Parse("uprobe:/bin/x:ns::f(int, *)")
	if err != nil {
		t.Fatal(err)
	}
	if s.Kind != reader.Uprobe || s.Path != "/bin/x" || s.Function != "ns::f(int, *)" {
		t.Errorf("got %v %q %q", s.Kind, s.Path, s.Function)
	}
	if !s.MatchFunction("/bin/x", "ns::f(int, char)") || s.MatchFunction("/bin/x", "ns::g(int, char)") {
		t.Errorf("wrong functions match")
	}
	if s, err = Parse("uretprobe:x:main"); err != nil || s.Kind != reader.Uretprobe || !s.MatchFunction("/bin/x", "main") {
		t.Errorf("got %v, %v", s.Kind, err)
	}
}

func TestLines(t *testing.T) {
	for _, test := range []struct {
		selector, file string
		line           int
		want           bool
	}{
		{"uprobe:./x:a.c:7", "/src/a.c", 7, true},
		{"uprobe:./x:a.c:7", "a.c", 7, true},
		{"uprobe:./x:a.c:7", "/src/ba.c", 7, false},
		{"uprobe:./x:a.c:7", "/src/a.c", 8, false},
		{"uprobe:./x:src/a.c:7-9", "/src/a.c", 9, true},
		{"uprobe:./x:src/a.c:7-9", "/lib/a.c", 9, false},
		{"uprobe:./x:/src/a.c:*", "/src/a.c", 900, true},
		{"uprobe:./x:*.c:7", "/src/a.c", 7, true},
		{"uprobe:./x:./a.c:7", "/src/a.c", 7, true},
	} {
		s, err := Parse(test.selector)
		if err != nil || !s.ByLine || s.ByFunction() || s.String() != test.selector {
			t.Errorf("%s is %+v, error %v", test.selector, s, err)
			continue
		}
		if got := s.MatchFile(test.file) && s.Line <= test.line && test.line <= s.LastLine; got != test.want {
			t.Errorf("%s selects line %d of %s: %v", test.selector, test.line, test.file, got)
		}
		if got := s.MatchLine(s.LineName(test.file, test.line)); test.want && !got {
			t.Errorf("%s does not select %s", test.selector, s.LineName(test.file, test.line))
		}
	}
	for _, function := range []string{"ns::*", "ns::f", "a.c", "f(int)::{lambda()#1}", "operator:"} {
		if s, err := Parse("uprobe:./x:" + function); err != nil || s.ByLine || !s.ByFunction() {
			t.Errorf("%s is %+v, error %v", function, s, err)
		}
	}
}

func TestLiteralPath(t *testing.T) {
	for _, tt := range []struct {
		selector, want string
		ok             bool
	}{
		{"a:b", "", false},
		{"/x*:a:b", "", false},
		{"/x\\*:a:b", "/x*", true},
		{"./x:a:b", "./x", true},
	} {
		s, err := Parse(tt.selector)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := s.LiteralPath(); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q: got %q, %v, want %q, %v", tt.selector, got, ok, tt.want, tt.ok)
		}
	}
}

func TestSymbolicLink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file, link := filepath.Join(dir, "libx.so.1.2"), filepath.Join(dir, "libx.so")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{file: true, link: true, file + "3": false} {
		s, err := Parse("uprobe:" + link + ":f")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.MatchFunction(path, "f"); got != want {
			t.Errorf("%s selects %s: %v, want %v", s.String(), path, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for selector, want := range map[string]string{
		"":                "there is no ':'",
		"abc":             "there is no ':'; all probes of a provider of this name are 'abc:*'",
		"query__start":    "there is no ':'; probes of this name, of any provider, are '*:query__start'",
		"./abc":           "there is no ':'",
		":n":              "the provider is empty",
		"p:":              "the name is empty",
		":p:n":            "the path is empty",
		"x::n":            "the provider is empty",
		"p:[a":            "name \"[a\": '[' is not closed",
		"p:a\\":           "a backslash ends",
		"p:[z-a]":         "runs backwards",
		"uprobe:x":        "write ./uprobe",
		"uprobe:x:a.c:0":  "\"0\" is no line",
		"uprobe:x:a:9-3":  "\"9-3\" is no line",
		"uretprobe:x:a:3": "a line does not return",
		"uprobe::f":       "the path is empty",
		"uretprobe:x:":    "the function is empty",
		"uretprobe:[:f:":  "path \"[\"",
		"uprobe:x:0xg":    "\"0xg\" is not an address",
		"uretprobe:x:f+1": "returned from as a whole",
		"uretprobe:x:0x1": "returned from as a whole",
	} {
		_, err := Parse(selector)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): got %v, want an error with %q", selector, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a:b", "a")
	f.Add("x*:[!a-c]?:\\*", "abc")
	f.Add("uprobe:x:ns::f", "f")
	f.Add("uprobe:x:f+0x1f", "f")
	f.Add("uprobe:x:0x401136", "f")
	f.Fuzz(func(t *testing.T, selector, s string) {
		sel, err := Parse(selector)
		if err != nil {
			return
		}
		if got := sel.String(); got != selector {
			t.Errorf("String of %q: got %q", selector, got)
		}
		sel.Match(s, s, s)
		if g, err := compile(Quote(s)); err != nil || !g.match(s) || g.tokens != nil {
			t.Errorf("Quote(%q) is %q, which does not match: %v", s, Quote(s), err)
		}
		sel.MatchFunction(s, s)
	})
}

func TestUnite(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	if err := errors.Join(os.WriteFile(a, nil, 0o600), os.Link(a, b), os.WriteFile(c, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	var all []*Selector
	for _, text := range []string{a + ":p:n", c + ":p:n", b + ":p:*", dir + "/missing:p:n", "p:n", dir + "/[a]:p:n"} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &s)
	}
	Unite(all...)
	for _, path := range []string{a, b, c} {
		var got []bool
		for _, s := range all {
			got = append(got, s.MatchPath(path))
		}
		want := []bool{path != c, path == c, path != c, false, true, path == a}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

// MatchFunction reports whether s selects the function, or an instruction of it, in
// the object at path.
func (s *Selector) MatchFunction(path, function string) bool {
	return s.MatchName(function) && s.MatchPath(path)
}
