package selector

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// names are names and paths that selectors and shells read in ways of their own.
var names = []string{
	"main", "main.Sum[go.shape.int64]", "V::operator[](int)", "operator*", "std::vector<int, std::allocator<int> >::at(unsigned long)",
	"a+5", "a+0x1f+2", "operator+", "operator+(int)", "0x401000", "0x", `back\slash`, `\`, "?", "[!a]", "it's", "$(id)", "`id`", "a b", "-q", "ü", "\xff", "uprobe", "uretprobe",
	"@GLIBC_2.34", "memcpy@@GLIBC_2.14", "{{closure}}", "a,b", "!x", "~", "#", "a:b", "::", ":", "a|b;c&d>e<f",
}

// random returns a name of characters that mean something.
func random(r *rand.Rand) string {
	const special = `:+\*?[]!0x1f-'"$ab/.@<> ,{}` + "`"
	b := make([]byte, 1+r.IntN(12))
	for i := range b {
		b[i] = special[r.IntN(len(special))]
	}
	return string(b)
}

// TestQuoted parses selectors that were made of names, behind a shell also, and checks that
// they select what has these names and nothing else.
func TestQuoted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	all := names
	for range 3000 {
		all = append(all, random(r))
	}
	var words []string
	for i, name := range all {
		path, other := "/"+all[(i+7)%len(all)], all[(i+13)%len(all)]
		for _, kind := range []string{"uprobe", "uretprobe"} {
			text := Function(kind, path, name)
			if _, _, ok := cutOffset(name); ok {
				text = kind + ":" + QuotePath(path) + ":" + QuoteFunction(name)
			}
			words = append(words, text)
			s, err := Parse(text)
			if err != nil {
				t.Errorf("function %q in %q: %v", name, path, err)
				continue
			}
			if s.Kind.String() != kind || !s.MatchFunction(path, name) || s.MatchFunction(path, name+"x") || s.MatchFunction(path+"x", name) || s.Offset != 0 || s.ByAddress {
				t.Errorf("%s: got %+v, want function %q in %q", text, s, name, path)
			}
		}
		text := Probe(path, other, name)
		words = append(words, text)
		if i%2 == 0 {
			text = Probe("", other, name)
		}
		s, err := Parse(text)
		if err != nil {
			t.Errorf("probe %q %q in %q: %v", other, name, path, err)
		} else if !s.Match(path, other, name) || s.Match(path, other+"x", name) || s.Match(path, other, name+"x") || i%2 != 0 && s.Match(path+"x", other, name) {
			t.Errorf("%s: got %+v, want probe %q %q in %q", text, s, other, name, path)
		}
	}
	var script strings.Builder
	for _, w := range words {
		script.WriteString("printf '%s\\0' " + Shell(w) + "\n")
	}
	cmd := exec.Command("sh")
	cmd.Stdin = strings.NewReader(script.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(out), "\x00")
	for i, w := range words {
		if got[i] != w {
			t.Fatalf("a shell makes %q of %s, want %q", got[i], Shell(w), w)
		}
	}
}

// TestInstructions keeps what lies behind a function's entry.
func TestInstructions(t *testing.T) {
	s, err := Parse(Function("uprobe", "/a:b", "V::operator[](int)+0x1f"))
	if err != nil || s.Offset != 0x1f || !s.MatchFunction("/a:b", "V::operator[](int)") {
		t.Errorf("got %+v, %v", s, err)
	}
}

// TestColonInPath finds the path of a file with a colon as it is typed.
func TestColonInPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a:b", "prog")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"uprobe:" + path + ":V::f", Function("uprobe", path, "V::f")} {
		if s, err := Parse(text); err != nil || !s.MatchFunction(path, "V::f") {
			t.Errorf("%s: got %+v, %v", text, s, err)
		}
	}
}
