package prototype_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/prototype"
)

// TestLooks reads what the first look at a provider shows, in the files that come with the package
// and in others.
func TestLooks(t *testing.T) {
	mine, err := prototype.Parse("mine", []byte("page mine:a,mine:b:id,n by sql(q) stack\npage mine:c\npage sql:a,sql:b\npage call:a,uprobe:prog:F flat\npage call:a,call:b\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		table    *prototype.Table
		provider string
		want     []prototype.Look
	}{
		{mine, "mine", []prototype.Look{{Span: "mine:a,mine:b:id,n", By: "sql(q)", Stack: true}, {Span: "mine:c"}}},
		{mine, "call", []prototype.Look{{Span: "call:a,uprobe:prog:F", Flat: true}, {Span: "call:a,call:b"}}},
		{prototype.Known().With(mine), "sql", []prototype.Look{{Span: "sql:a,sql:b"}}},
		{prototype.Known().With(mine), "grpc_server", []prototype.Look{{Span: "grpc_server:request_start,grpc_server:request_done:id", By: "method"}}},
		{prototype.Known(), "mine", nil},
		{nil, "mine", nil},
	} {
		if d := cmp.Diff(c.want, c.table.Looks(c.provider)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.provider, d)
		}
	}
	for _, wrong := range []string{"page", "page a", "page a:", "page a:b,", "page a:b,c", "page a:b,c:", "page a:b by x", "page a:b,a:c by", "page a:b,a:c fast", "page a:b,uprobe:c", "page a:b,uprobe:c:d:e", "pair a:b", "pair"} {
		var syntax *prototype.SyntaxError
		if _, err := prototype.Parse("wrong", []byte("a:b()\n"+wrong)); !errors.As(err, &syntax) || syntax.Line != 2 {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	for _, provider := range prototype.Providers() {
		for _, l := range prototype.Known().Looks(provider) {
			if _, err := prototype.Parse("again", []byte("page "+l.Span)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPairs reads what is known of pairs, also of ones that are no part of the first look.
func TestPairs(t *testing.T) {
	mine, err := prototype.Parse("mine", []byte("page mine:a,mine:b by sql(q) flat\npair mine:b,mine:c:id by x\npair mine:a,mine:c\npage call:a,uprobe:prog:F flat\npage call:a,call:b\n"))
	if err != nil {
		t.Fatal(err)
	}
	if looks := mine.Looks("mine"); len(looks) != 1 {
		t.Errorf("the first look is %v, want one", looks)
	}
	first, second := &prototype.Look{Span: "mine:a,mine:b", By: "sql(q)", Flat: true}, &prototype.Look{Span: "mine:b,mine:c:id", By: "x"}
	call := &prototype.Look{Span: "call:a,uprobe:prog:F", Flat: true}
	for _, c := range []struct {
		start, end string
		want       *prototype.Look
	}{
		{"mine:a", "mine:b", first}, {"./m:mine:a", "", first}, {"mine:b", "", second}, {"mine:b", "mine:c", second},
		{"mine:a", "mine:c", &prototype.Look{Span: "mine:a,mine:c"}}, {"mine:c", "", nil}, {"mine:b", "mine:a", nil}, {"other:a", "", nil},
		{"call:a", "", call}, {"./m:call:a", "uprobe:./prog:F", call}, {"call:a", "uprobe:./prog:G", nil}, {"call:a", "call:b", &prototype.Look{Span: "call:a,call:b"}},
	} {
		if d := cmp.Diff(c.want, prototype.Known().With(mine).Pair(c.start, c.end)); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.start, c.end, d)
		}
	}
}

// TestSayings reads texts that say what arguments mean.
func TestSayings(t *testing.T) {
	table, err := prototype.Parse("mine", []byte("say p:w* for kind=A the ${x} of ${y}\nsay p:w* who ${q:text}, ${x} = 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := table.Sayings("p", "wait")
	want := []prototype.Saying{{"for", "kind", "A", "the ${x} of ${y}"}, {"who", "", "", "${q:text}, ${x} = 1"}}
	if d := cmp.Diff(want, got); d != "" || len(table.Sayings("p", "other")) != 0 {
		t.Errorf("(-want +got):\n%s", d)
	}
	if needs := got[1].Needs(); !slices.Equal(needs, []string{"q:text", "x"}) {
		t.Errorf("needs %q", needs)
	}
	if said := table.Said("p", "q"); !slices.Equal(said, []string{"text"}) {
		t.Errorf("of q others need %q", said)
	}
	for _, wrong := range []string{"say", "say p:x", "say p:x name", "say p name text", "say p:x name a=b"} {
		var syntax *prototype.SyntaxError
		if _, err := prototype.Parse("wrong", []byte("a:b()\n"+wrong)); !errors.As(err, &syntax) || syntax.Line != 2 {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	// Names of arguments in texts that come with the package are those of their probes.
	for _, provider := range prototype.Providers() {
		own, err := prototype.ReadFile("known/" + provider + ".probes")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range own.Prototypes() {
			for _, s := range own.Sayings(p.Provider, p.Name) {
				for _, need := range append(s.Needs(), s.When) {
					has := func(a prototype.Param) bool { return a.Name == need }
					if need != "" && !slices.ContainsFunc(p.Params, has) && need != "statement__status:status" {
						t.Errorf("%s:%s has no %s", p.Provider, p.Name, need)
					}
				}
			}
		}
	}
}

// TestVariables reads texts to which variables of programs point.
func TestVariables(t *testing.T) {
	table, err := prototype.Parse("mine", []byte("text p:w* who current_user\ntext p:x what current\np:wait(int n)\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, over := range []*prototype.Table{table, prototype.Known().With(table)} {
		if d := cmp.Diff([]prototype.Variable{{Name: "who", Symbol: "current_user"}}, over.Variables("p", "wait")); d != "" || over.Variables("p", "other") != nil || over.Variables("q", "wait") != nil {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	if got := table.Of("p", "wait")[0].WithText("who").String(); got != "p:wait(int n, char *who)" {
		t.Errorf("with a text it is %s", got)
	}
	for _, wrong := range []string{"text", "text p:x", "text p:x name", "text p name symbol", "text p:x arg1 symbol", "text p:x name -1", "text p:x name symbol more"} {
		var syntax *prototype.SyntaxError
		if _, err := prototype.Parse("wrong", []byte("a:b()\n"+wrong)); !errors.As(err, &syntax) || syntax.Line != 2 {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
