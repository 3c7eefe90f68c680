package fold_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/fold"
)

func TestSQL(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"SELECT 1", "SELECT ?"},
		{"select abalance from t1 where aid = 42;", "select abalance from t1 where aid = ?"},
		{"UPDATE t SET b = b + -1234 WHERE id = 7", "UPDATE t SET b = b + ? WHERE id = ?"},
		{"select a-1, a - 1, -1, (-1), a = -1.5e-3", "select a-?, a - ?, ?, (?), a = ?"},
		{"select x[1]-2, (a)-3, 'y'-4, 5-6", "select x[?]-?, (a)-?, ?-?, ?-?"},
		{"select 0x1F, 1_000, .5, 1., 2.5e+10", "select ?, ?, ?, ?, ?"},
		{"select 'it''s', E'it\\'s', b'01', X'ff', N'n', U&'\\0041'", "select ?, ?, ?, ?, ?, ?"},
		{"select 'back\\', 1", "select ?, ?"},
		{"select $$a 'b' c$$, $tag$ $$ 1 $tag$", "select ?, ?"},
		{"select * from t where id = $1 and b = $12", "select * from t where id = $1 and b = $12"},
		{`select "column 1" from "t''2"`, `select "column 1" from "t''2"`},
		{"select `a 1` from t", "select `a 1` from t"},
		{"select 1 -- comment '\n, 2 /* /* nested 3 */ 4 */ from t", "select ?, ? from t"},
		{"  select\n\t1\r\n  from  t  ", "select ? from t"},
		{"select * from t where id in (1, 2,3 , 4)", "select * from t where id in (?, ...)"},
		{"select * from t where id in ( 1 )", "select * from t where id in (?)"},
		{"insert into t values (1, 'a'), (2, 'b'),(3,'c')", "insert into t values (?, ...), ..."},
		{"insert into t values (1), (2)", "insert into t values (?), ..."},
		{"insert into t (a, b) values (1, now()), (2, now())", "insert into t (a, b) values (?, now()), (?, now())"},
		{"insert into t values (1,2), (f(3))", "insert into t values (?, ...), (f(?))"},
		{"select '2026-01-01'::date, 1::int, date '2026-01-01'", "select ?::date, ?::int, date ?"},
		{"select grüße1 from größe where ä = 'ö'", "select grüße1 from größe where ä = ?"},
		{"select 'not closed", "select ?"},
		{"select 1 /* not closed", "select ?"},
		{"select $a$ not closed", "select ?"},
		{"select E'x\\", "select ?"},
		{"select true, null, 1", "select true, null, ?"},
		{"begin; select 1; end;", "begin; select ?; end"},
		{"select f(1,2 ,3), (1, a), ((1), (2)), (1 + 2)", "select f(?, ...), (?, a), ((?), ...), (? + ?)"},
		{"select 1..2", "select ?..?"},
		{"fetch -1 from c", "fetch -? from c"}, // unknown words are taken for names
	} {
		if got := string(fold.SQL(nil, []byte(c.in))); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
		if got := string(fold.SQL([]byte("?,"), []byte(c.in))); got != "?,"+c.want && c.want != "" {
			t.Errorf("%q behind other text: got %q, want %q", c.in, got, "?,"+c.want)
		}
	}
}

// TestCXX checks that cxx demangles types.
func TestCXX(t *testing.T) {
	f := fold.Of("cxx")
	for in, want := range map[string]string{
		"St6vectorIiSaIiEE": "std::vector<int, std::allocator<int> >", "Pc": "char*", "not mangled": "not mangled",
	} {
		if got := string(f.Append([]byte("type "), []byte(in))); got != "type "+want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestWord checks that word is what stands before the first blank.
func TestWord(t *testing.T) {
	f := fold.Of("word")
	for in, want := range map[string]string{"get key41\r\n": "get", "  quit\r\n": "quit", "SELECT\n1": "SELECT", "": "", " \t": ""} {
		if got := string(f.Append([]byte("by "), []byte(in))); got != "by "+want {
			t.Errorf("%q: got %q, want %q", in, got, "by "+want)
		}
	}
}

// FuzzSQL checks that literals, and nothing but them, make no difference, and that what
// is folded stays as it is.
func FuzzSQL(f *testing.F) {
	f.Add("select a from b where c = 'd' and e in (1, 2)", "x'y")
	f.Add("insert into t values (1, $$a$$), (2, E'\\'')", "$$")
	f.Fuzz(func(t *testing.T, statement, literal string) {
		once := fold.SQL(nil, []byte(statement))
		if len(once) > 2*len(statement) {
			t.Errorf("%q became longer: %q", statement, once)
		}
		if bytes.ContainsAny(once, "\n\t\r") && !strings.ContainsAny(statement, "\"`") {
			t.Errorf("%q has blanks left: %q", statement, once)
		}
		quoted := "'" + strings.ReplaceAll(literal, "'", "''") + "'"
		a, b := fold.SQL(nil, []byte("select "+quoted+" from t")), "select ? from t"
		if string(a) != b {
			t.Errorf("%q: got %q, want %q", literal, a, b)
		}
	})
}
