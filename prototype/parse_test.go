package prototype_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
)

// TestParse reads lines and compares them with what String makes of them.
func TestParse(t *testing.T) {
	const file = `
# a comment
typedef unsigned int Oid
enum Mode { A, B = 5, C,
	D = -1 } # over two lines

p:nothing()
p:query(const char *query)   # another
p:text(char * name [ len ], int len)
p:wide(char16_t *name[n], size_t n)
p:behind(void *object, char *type->8)
p:both(char *type->0x10[n], uint16_t n)
p:numbers(bool b, char c, unsigned long long u, Oid oid, Mode mode, enum Mode other, double f)
p:units(long took ns, size_t size bytes)
p:passed(int fd as uintptr_t, int timeout as intptr_t ms)
p:structs(struct link_map *map, const struct foo **list, void **pointers)
p:open(int first, int _, ...)
p:open2(...)
p:several(
	int first,
	long second
)
`
	want := []string{
		"p:nothing()",
		"p:query(char *query)",
		"p:text(char *name[len], int len)",
		"p:wide(char16_t *name[n], size_t n)",
		"p:behind(void *object, char *type->8)",
		"p:both(char *type->16[n], uint16_t n)",
		"p:numbers(bool b, char c, unsigned long long u, Oid oid, Mode mode, Mode other, double f)",
		"p:units(long took ns, size_t size bytes)",
		"p:passed(int fd as uintptr_t, int timeout as intptr_t ms)",
		"p:structs(link_map *map, foo **list, void **pointers)",
		"p:open(int first, int _, ...)",
		"p:open2(...)",
		"p:several(int first, long second)",
	}
	table, err := prototype.Parse("file", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	got := table.Prototypes()
	for i, p := range got {
		if i >= len(want) || p.String() != want[i] {
			t.Errorf("line %d: got %s, want %s", p.Line, p, want[min(i, len(want)-1)])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d prototypes, want %d", len(got), len(want))
	}
}

// TestErrors checks what errors say, and of which line.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"p:x(int a", "f:1: want ',', got the end of the file"},
		{"\n\np:x(int)", `f:3: want the name of an argument of type int, or _, got ")"`},
		{"p:x(int a)\np:x(oid a)", "f:2: the type oid is unknown: declare it by typedef or enum, or write a pointer to it"},
		{"p:x(int a, int a)", "f:1: p:x has two arguments a"},
		{"p:x(int pid)", "f:1: an argument cannot be called pid, which stands for something else in conditions"},
		{"p:x(int arg1)", "f:1: an argument cannot be called arg1, which stands for a place"},
		{"p:x(char *a[n])", "f:1: p:x has no argument n, which is to be the length of a"},
		{"p:x(char *a[n], void *n)", "f:1: n is no integer, and cannot be the length of a"},
		{"p:x(int a[n], int n)", "f:1: only text has a length, and a is a int"},
		{"p:x(int a->8)", "f:1: -> leads to text, and a is a int"},
		{"p:x(char *a->-8)", "f:1: the offset -8 is not between 0 and 2147483647"},
		{"p:x(char16_t *a)", "f:1: a is UTF-16, which needs a length: char16_t *a[length]"},
		{"p:x(int a parsecs)", "f:1: parsecs is no unit: want ns, us, ms, s, bytes, kB, pages, blocks, id, cxx or java"},
		{"p:x(char *a bytes)", "f:1: a is no number, and has no unit"},
		{"p:x(int a) p:y()", `f:1: want the end of the line, got "p"`},
		{"p:x(..., int a)", `f:1: want ')', got ","`},
		{"p:x(int a,)", `f:1: want a type, got ")"`},
		{"p:x(int a int b)", "f:1: int is no unit: want ns, us, ms, s, bytes, kB, pages, blocks, id, cxx or java"},
		{"p:x(int a)\n\np:x(int a)", "f:3: p:x has the same line twice, here and in line 1"},
		{"p x(int a)", `f:1: want ':' after the provider p, got "x"`},
		{"p:x(int a)\n$", "f:2: character '$' has no meaning here"},
		{"typedef int", "f:1: want the name of the type, got the end of the file"},
		{"typedef int short", "f:1: the type short is declared twice"},
		{"typedef int x\ntypedef long x", "f:2: the type x is declared twice"},
		{"enum E { A, A }", "f:1: enum E has A twice"},
		{"enum E { A = 1, B = 1 }", "f:1: A and B of enum E are both 1"},
		{"enum E { A = x }", `f:1: want the value of A, got "x"`},
		{"enum E {\nA\nB }", `f:3: want '}', got "B"`},
	} {
		_, err := prototype.Parse("f", []byte(c.file))
		var syntax *prototype.SyntaxError
		if err == nil || err.Error() != c.want || !errors.As(err, &syntax) {
			t.Errorf("%q: got %v, want %s", c.file, err, c.want)
		}
	}
}

// TestFits checks which forms of arguments a type stands for.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		param string
		args  string // of amd64, which fit
		not   string
	}{
		{"int a", "-4@%eax;-4@$7;-4@$-7;-1@$0", "4@%eax;-8@%rax;-2@%ax;8@$0x100000000;4f@%xmm0"},
		{"unsigned a", "4@%eax;-4@$7;4@$4294967295;-4@$-1", "-4@%eax;8@%rax;-8@$-5"},
		{"bool a", "1@%al;-4@$0;-4@$1", "-1@%al;4@%eax;-4@$2"},
		{"char a", "1@%al;-1@%al", "2@%ax"},
		{"signed char a", "-1@%al", "1@%al"},
		{"long a", "-8@%rax;-4@$5", "8@%rax;-4@%eax"},
		{"size_t a", "8@%rax", "-8@%rax;4@%eax"},
		{"void *a", "8@%rax;8@$0;-4@$0;8@$symbol", "-8@%rax;4@%eax;8@$4096"},
		{"char *a->8", "8@%rax", "-8@%rax"},
		{"double a", "8f@%xmm0", "8@%rax;4f@%xmm0"},
		{"E a", "4@%eax;-4@%eax;-4@$1", "8@%rax;1@%al"},
		{"E a as uint8_t", "1@%al", "4@%eax"},
		{"int a as uintptr_t", "8@%rax;-4@$-1", "-4@%eax"},
	} {
		table, err := prototype.Parse("f", []byte("enum E { A }\np:x("+c.param+")"))
		if err != nil {
			t.Fatal(err)
		}
		for i, forms := range []string{c.args, c.not} {
			for _, form := range strings.Split(forms, ";") {
				args := notes.ParseArgs(notes.EM_X86_64, notes.ELFCLASS64, form)
				p := table.Lookup("p", "x", args, notes.ELFCLASS64)
				if (p != nil) != (i == 0) {
					t.Errorf("%s with %s: got %v", c.param, form, p)
				}
			}
		}
	}
}

// TestAmbiguous checks that an argument has a name only if all prototypes that fit
// agree in it.
func TestAmbiguous(t *testing.T) {
	table, err := prototype.Parse("f", []byte(`
p:x(int same, char *name[n], int n, bool first)
p:x(int same, char *other[n], int n, bool second)
p:y(int a, ...)
p:y(int a, int b)
p:z(int a)
p:z(int b)
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, args, want string }{
		{"x", "-4@%eax 8@%rbx -4@%ecx 1@%dl", "p:x(int same, _, int n, _)"},
		{"x", "-4@%eax 8@%rbx -4@%ecx -4@$0", "p:x(int same, _, int n, _)"},
		{"y", "-4@%eax -4@%ebx", "p:y(int a, ...)"},
		{"y", "-4@%eax -8@%rbx", "p:y(int a, ...)"},
		{"z", "-4@%eax", "<nil>"},
	} {
		p := table.Lookup("p", c.name, notes.ParseArgs(notes.EM_X86_64, notes.ELFCLASS64, c.args), notes.ELFCLASS64)
		got := "<nil>"
		if p != nil {
			got = p.String()
		}
		if got != c.want {
			t.Errorf("%s(%s): got %s, want %s", c.name, c.args, got, c.want)
		}
	}
}

// TestWith checks that a user's lines win for the probes that they name, and for no
// others.
func TestWith(t *testing.T) {
	mine, err := prototype.Parse("mine", []byte("postgresql:query__start(char *mine)\nmine:x(int a)"))
	if err != nil {
		t.Fatal(err)
	}
	both := prototype.Known().With(mine)
	for _, c := range []struct{ provider, name, args, want string }{
		{"postgresql", "query__start", "8@%rdi", "mine"},
		{"postgresql", "query__done", "8@%rdi", "query"},
		{"mine", "x", "-4@%edi", "a"},
	} {
		p := both.Lookup(c.provider, c.name, notes.ParseArgs(notes.EM_X86_64, notes.ELFCLASS64, c.args), notes.ELFCLASS64)
		if p == nil || p.Params[0].Name != c.want {
			t.Errorf("%s:%s: got %v, want an argument %s", c.provider, c.name, p, c.want)
		}
	}
	if p := both.Lookup("postgresql", "query__start", notes.ParseArgs(notes.EM_X86_64, notes.ELFCLASS64, "4@%edi"), notes.ELFCLASS64); p != nil {
		t.Errorf("a line that does not fit: got %v, want none", p)
	}
	for _, c := range []struct{ args, want string }{
		{"-4@%edi 8@%rsi", ""},
		{"-4@%edi", "the probe has 1 arguments"},
		{"-4@%edi 8@%rsi 8@%rdx", "the probe has 3 arguments"},
		{"-4@%edi -4@%eax", "argument 1, hit, is passed in another size or form: -4@%eax"},
	} {
		line, err := prototype.Parse("mine", []byte("mine:misfit(int n, char *hit)\n"))
		if err != nil {
			t.Fatal(err)
		}
		args := notes.ParseArgs(notes.EM_X86_64, notes.ELFCLASS64, c.args)
		if got := line.Prototypes()[0].Misfit(args, notes.ELFCLASS64); got != c.want {
			t.Errorf("%s: got %q, want %q", c.args, got, c.want)
		}
	}
	var none *prototype.Table
	if none.With(nil) != nil || none.With(mine) != mine || mine.With(nil) != mine || none.Lookup("mine", "x", nil, 0) != nil {
		t.Error("a nil table is not empty")
	}
}

// FuzzParse checks that what was read is read again from what String writes.
func FuzzParse(f *testing.F) {
	for _, provider := range prototype.Providers() {
		for _, p := range prototype.Known().Of(provider, "query__start") {
			f.Add(p.String())
		}
	}
	f.Add("enum E { A }\ntypedef int T\np:x(T a, char *b->8[a], unsigned c as long ns, ...)")
	f.Fuzz(func(t *testing.T, file string) {
		table, err := prototype.Parse("f", []byte(file))
		if err != nil {
			return
		}
		var again strings.Builder
		for line := range strings.Lines(file) {
			if strings.Contains(line, "typedef") || strings.Contains(line, "enum") {
				return // whose names the lines may need
			}
		}
		for _, p := range table.Prototypes() {
			again.WriteString(p.String() + "\n")
		}
		second, err := prototype.Parse("f", []byte(again.String()))
		if err != nil {
			t.Fatalf("%q was written as %q: %v", file, again.String(), err)
		}
		for i, p := range second.Prototypes() {
			if want := table.Prototypes()[i].String(); p.String() != want {
				t.Errorf("got %s, want %s", p, want)
			}
		}
	})
}

// TestLoad checks which files win: the user's win over Known's, later ones over earlier
// ones, and none leaves out all before it.
func TestLoad(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	write := func(path, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(filepath.Join(config, "usdt", "a.probes"), "postgresql:query__start(char *configured)\nmine:x(int a)")
	write(filepath.Join(config, "usdt", "b.probes"), "mine:x(int b)")
	write(filepath.Join(config, "usdt", "notes.txt"), "not read")
	file := write(filepath.Join(t.TempDir(), "c"), "mine:x(int c)")
	for _, c := range []struct {
		paths           []string
		x, start, query string
	}{
		{nil, "b", "configured", "query"},
		{[]string{file}, "c", "configured", "query"},
		{[]string{prototype.None}, "", "", ""},
		{[]string{prototype.None, file}, "c", "", ""},
		{[]string{file, prototype.None}, "", "", ""},
	} {
		table, err := prototype.Load(c.paths...)
		if err != nil {
			t.Fatal(err)
		}
		for _, probe := range []struct{ provider, name, args, want string }{
			{"mine", "x", "-4@%eax", c.x}, {"postgresql", "query__start", "8@%rax", c.start}, {"postgresql", "query__done", "8@%rax", c.query},
		} {
			got := ""
			if p := table.Lookup(probe.provider, probe.name, notes.ParseArgs(notes.EM_X86_64, notes.ELFCLASS64, probe.args), notes.ELFCLASS64); p != nil {
				got = p.Params[0].Name
			}
			if got != probe.want {
				t.Errorf("Load%q: argument of %s:%s is %q, want %q", c.paths, probe.provider, probe.name, got, probe.want)
			}
		}
	}
	write(filepath.Join(config, "usdt", "wrong.probes"), "mine:x(int)")
	if _, err := prototype.Load(); !errors.As(err, new(*prototype.SyntaxError)) {
		t.Errorf("a wrong file: got %v, want where", err)
	}
	if _, err := prototype.Load(t.TempDir()); err == nil {
		t.Error("a directory was read as a file")
	}
}
