package list

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/watch"
	"github.com/go-usdt/usdt/reader"
)

// several are the probes of three processes, two of which run one program.
func several() *List {
	return &List{Probes: []Probe{
		{PID: 21, Comm: "shop", Provider: "shop", Name: "request__start", Path: "/usr/local/lib/shop/bin/shop", Args: "8@%rdi 8@%rsi", State: "clean", offset: 8},
		{PID: 21, Comm: "shop", Provider: "shop", Name: "request__done", Path: "/usr/local/lib/shop/bin/shop", State: "clean", offset: 9, Reason: "it would end the program"},
		{PID: 21, Comm: "shop", Provider: "db", Name: "query", Path: "/usr/lib/libdb.so", State: "clean"},
		{PID: 22, Comm: "shop-worker", Provider: "shop", Name: "request__start", Path: "/usr/local/lib/shop/bin/shop", Args: "8@%rdi 8@%rsi", State: "clean", offset: 8},
		{PID: 22, Comm: "shop-worker", Provider: "shop", Name: "request__done", Path: "/usr/local/lib/shop/bin/shop", State: "clean", offset: 9, Reason: "it would end the program"},
		{PID: 22, Comm: "shop-worker", Provider: "db", Name: "query", Path: "/usr/lib/libdb.so", State: "int3", Watchers: []watch.Watcher{{PID: 7, Comm: "sdttrace"}}},
		{PID: 23, Comm: "tool", Provider: "db", Name: "query", Path: "/usr/lib/libdb.so", State: "clean"},
	}}
}

// TestText checks the summary and the rows of several processes.
func TestText(t *testing.T) {
	const want = `PROVIDER  PROBES  WATCHED  PROCESSES  COMM                   BY
db             1        1          3  shop,shop-worker,tool  sdttrace/7
shop           2        0          2  shop,shop-worker       -

PID    COMM         PROBE                TRACERS  SITE    BY          PATH
21 +1  shop +1      db:query             -        clean   -           /usr/lib/libdb.so
22     shop-worker  db:query             -        int3    sdttrace/7  /usr/lib/libdb.so
21 +1  shop +1      shop:request__start  -        clean   -           /usr/local/lib/shop/bin/shop
21 +1  shop +1      shop:request__done   -        clean!  -           /usr/local/lib/shop/bin/shop
`
	var got strings.Builder
	if err := several().Text(&got); err != nil || got.String() != want {
		t.Errorf("%v, it prints\n%swant\n%s", err, &got, want)
	}
}

// TestManyLeftOut leaves a provider with very many probes out of a terminal's list, and shows it where it was
// asked for, behind -v, alone, and in a pipe.
func TestManyLeftOut(t *testing.T) {
	many := func() *List {
		l := several()
		for i := range maxShown + 1 {
			l.Probes = append(l.Probes, Probe{PID: 31, Comm: "java", Provider: "jni", Name: fmt.Sprint("call", i), Path: "/usr/lib/libjvm.so", State: "clean"})
		}
		l.Width = 100
		return l
	}
	text := func(l *List) string {
		var got strings.Builder
		if err := l.Text(&got); err != nil {
			t.Error(err)
		}
		return got.String()
	}
	if got, want := text(many()), "\n101 more: sdttrace list 'jni:*'\n"; !strings.HasSuffix(got, want) || strings.Contains(got, "jni:call1 ") || !strings.Contains(got, "shop:request__done") {
		t.Errorf("it prints\n%swant at its end %q", got, want)
	}
	selected, verbose, piped, alone := many(), many(), many(), many()
	selected.Selectors = make([]selector.Selector, 1)
	verbose.Verbose, piped.Width, alone.Probes = true, 0, alone.Probes[len(several().Probes):]
	for _, l := range []*List{selected, verbose, piped, alone} {
		if got := text(l); !strings.Contains(got, "jni:call100 ") || strings.Contains(got, "more:") {
			t.Errorf("it prints\n%s", got)
		}
	}
}

// TestDeclaredFolded checks that processes of one program that have not loaded a probe are one row.
func TestDeclaredFolded(t *testing.T) {
	of := func(pid int, comm string) Probe {
		return Probe{PID: pid, Comm: comm, Provider: "shop", Name: "order", State: stateDeclared, Reason: fmt.Sprintf("process %d has not loaded it", pid)}
	}
	l := List{Probes: []Probe{of(21, "shop"), of(22, "shop"), of(23, "tool")}}
	const want = `PID    COMM  PROBE       TRACERS  SITE      BY  PATH
21 +1  shop  shop:order  -        declared  -
23     tool  shop:order  -        declared  -
`
	var got strings.Builder
	if err := l.Text(&got); err != nil || got.String() != want {
		t.Errorf("%v, it prints\n%swant\n%s", err, &got, want)
	}
}

// TestSitesFolded checks that sites of a probe that look the same are one row, and others are not.
func TestSitesFolded(t *testing.T) {
	of := func(pid int, offset uint64, state, args string) Probe {
		return Probe{PID: pid, Comm: "shop", Provider: "shop", Name: "order", Path: "/shop", State: state, Args: args, offset: offset}
	}
	l := List{Probes: []Probe{
		of(21, 8, "clean", "4@%eax"), of(21, 9, "clean", "4@%ebx"), of(21, 10, "int3", "4@%eax"), of(21, 11, "clean", "4@%eax"),
		of(22, 8, "clean", "4@%eax"), of(22, 9, "clean", "4@%ebx"), of(22, 10, "int3", "4@%eax"), of(22, 11, "clean", "4@%eax"),
		of(23, 11, "clean", "4@%eax"),
	}}
	for _, want := range []string{`PID    COMM  PROBE       TRACERS  SITE      BY  PATH
21 +1  shop  shop:order  -        clean +1  -   /shop
21 +1  shop  shop:order  -        int3      ?   /shop
21 +2  shop  shop:order  -        clean     -   /shop
`, `PID    COMM  PROBE       ARGUMENTS  TRACERS  SITE   BY  PATH
21 +1  shop  shop:order  4@%eax     -        clean  -   /shop
21 +1  shop  shop:order  4@%ebx     -        clean  -   /shop
21 +1  shop  shop:order  4@%eax     -        int3   ?   /shop
21 +2  shop  shop:order  4@%eax     -        clean  -   /shop
`} {
		var got strings.Builder
		if err := l.Text(&got); err != nil || got.String() != want {
			t.Errorf("-v %t: %v, it prints\n%swant\n%s", l.Verbose, err, &got, want)
		}
		l.Verbose = true
	}
}

// TestTextFits checks that no line is wider than a terminal, that probes keep their names, and that
// what -v shows is whole.
func TestTextFits(t *testing.T) {
	for _, width := range []int{60, 80, 120, 200} {
		for _, verbose := range []bool{false, true} {
			l := several()
			l.Width, l.Verbose = width, verbose
			var got strings.Builder
			if err := l.Text(&got); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(got.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d columns have a line of %d: %s", width, n, line)
				}
			}
			want := []string{" shop:request__start ", " db:query "}
			if verbose {
				want = append(want, "8@%rdi 8@%rsi", "/usr/local/lib/shop/bin/shop (refused: it would end the program)")
			}
			if words := " " + strings.Join(strings.Fields(got.String()), " ") + " "; width >= 80 {
				for _, w := range want {
					if !strings.Contains(words, w) {
						t.Errorf("%d columns, -v %t: want %q in\n%s", width, verbose, w, &got)
					}
				}
			}
		}
	}
}

// TestTableGrows checks that the work for a table grows with its size alone, and that one long cell
// does not make all lines as long.
func TestTableGrows(t *testing.T) {
	table := table{columns: []column{{name: "ADDRESS"}, {name: "PROBE"}, {name: "REFUSED"}}}
	for i := range 20_000 {
		table.rows = append(table.rows, []string{fmt.Sprintf("%#x", i), "uprobe:prog:f", "a reason"})
	}
	table.rows[7][1] += strings.Repeat("x", 100_000)
	var before, after runtime.MemStats
	var out bytes.Buffer
	runtime.ReadMemStats(&before)
	err := table.write(&out)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || took > 64<<20 || out.Len() > 4<<20 {
		t.Errorf("%d bytes were written and %d allocated, %v", out.Len(), took, err)
	}
}

// TestVariablesInParts lists the parts of a variable that Go keeps apart, and no members.
func TestVariablesInParts(t *testing.T) {
	f := listedFunction{Variables: variablesOf(&reader.Probe{Source: &reader.Source{Variables: []reader.Variable{
		{Name: "r", Type: "*request"}, {Name: "r.id", Type: "int", Behind: true},
		{Name: "parts.array", Type: "*string"}, {Name: "parts.array", Type: "string", Behind: true}, {Name: "parts.array.len", Type: "int", Behind: true},
		{Name: "parts.len", Type: "int"}, {Name: "main.total", Type: "int", Global: true},
	}}})}
	if got, want := f.variables(), "r *request, parts.array *string, parts.len int"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
