package format

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/total"
)

// statements are groups as a latency has them.
func statements() []total.Group {
	group := func(query string, n uint64, sum, least, most time.Duration) total.Group {
		return total.Group{
			By: []event.Arg{{Name: "sql(query)", Value: query}}, Count: n, Sum: uint64(sum), Avg: float64(sum) / float64(n), Min: uint64(least), Max: uint64(most),
			Hist: []total.Bucket{{Lo: 1 << 18, Hi: 1 << 19, N: n / 2}, {Lo: 1 << 19, Hi: 1 << 20, N: n}},
		}
	}
	return []total.Group{
		group("SELECT abalance FROM pgbench_accounts WHERE aid = ? AND bid = ?", 12_345, 9_622_123*time.Microsecond, 302_173, 516_153_000),
		group("END", 7, 4_388, 201, 999),
		{By: []event.Arg{{Name: "sql(query)", Err: errors.New("memory not readable")}}},
		{By: []event.Arg{{Name: "sql(query)"}}, Other: true, Count: 1, Sum: uint64(5), Avg: 5.0, Min: uint64(5), Max: uint64(5)},
	}
}

// TestTable writes groups for pipes, and for terminals, where keys are shortened.
func TestTable(t *testing.T) {
	at := time.Date(2026, 11, 26, 22, 55, 34, 577_795_000, time.UTC)
	in := func(groups ...total.Group) *Interval {
		return &Interval{At: at, Took: 2 * time.Second, Unit: "ns", Groups: groups, Events: 12_353}
	}
	noHist := func(groups []total.Group) []total.Group {
		for i := range groups {
			groups[i].Hist = nil
		}
		return groups
	}
	latency := Table{Keys: []string{"sql(query)"}, Names: []string{"sum", "avg", "min", "max"}, Of: "pairs"}
	for _, test := range []struct {
		name  string
		table Table
		width int
		in    *Interval
		want  string
	}{
		{"a pipe", latency, 0, in(noHist(statements())...), `22:55:34.577795  12,353 pairs in 2s
 count     sum    avg    min    max  sql(query)
12,345   9.62s  779µs  302µs  516ms  "SELECT abalance FROM pgbench_accounts WHERE aid = ? AND bid = ?"
     7  4.39µs  627ns  201ns  999ns  "END"
     0       -      -      -      -  ?(memory not readable)
     1     5ns    5ns    5ns    5ns  (other)
`},
		{"60 columns", latency, 60, in(noHist(statements())...), `22:55:34.577795  12,353 pairs in 2s
 count     sum    avg    min    max  sql(query)
12,345   9.62s  779µs  302µs  516ms  "SELECT abalance FROM …
     7  4.39µs  627ns  201ns  999ns  "END"
     0       -      -      -      -  ?(memory not readable)
     1     5ns    5ns    5ns    5ns  (other)
`},
		{"a histogram in 60 columns", latency, 60, in(statements()[:1]...), `22:55:34.577795  12,353 pairs in 2s
 count    sum    avg    min    max  sql(query)
12,345  9.62s  779µs  302µs  516ms  "SELECT abalance FROM p…
   260µs - 520µs     6172 |################
   520µs - 1ms     12,345 |#################################
`},
		{"no keys", Table{Names: []string{"p99", "rate", "sum"}, Of: "events"}, 0, in(total.Group{
			Count: 12_353, Sum: uint64(4096), Quantiles: []total.Quantile{{Percent: 99, Value: uint64(1 << 14)}},
		}), `           time   count     p99    rate    sum  sum_rate
22:55:34.577795  12,353  16.4µs  6177/s  4.1µs  2.05µs/s
`},
		{"the user's order", Table{Keys: []string{"path"}, Names: []string{"max", "count", "avg"}, Of: "events"}, 0, in(total.Group{
			By: []event.Arg{{Name: "path", Value: "/"}}, Count: 3, Avg: 5.0, Max: uint64(9),
		}), `22:55:34.577795  12,353 events in 2s
max  count  avg  path
9ns      3  5ns  "/"
`},
		{"two keys, the first ones", Table{Keys: []string{"path", "status"}, Of: "events"}, 0, &Interval{
			At: at, Events: 9, Others: 1, Hidden: 2, Groups: []total.Group{
				{Count: 4, By: []event.Arg{{Name: "path", Value: "/a/long/one"}, {Name: "status", Value: uint64(200)}}},
				{Count: 3, By: []event.Arg{{Name: "path", Value: "/"}, {Name: "status", Value: uint64(500)}}},
			},
		}, `22:55:34.577795  9 events
count  path           status
    4  "/a/long/one"  200
    3  "/"            500
... 1 more group, 2 events
`},
	} {
		table := test.table
		table.Width = test.width
		got := string(appendTable(nil, &table, test.in))
		if got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
	for width := 60; width < 140; width++ {
		table := latency
		table.Width = width
		for line := range strings.Lines(string(appendTable(nil, &table, in(statements()...)))) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns do not hold %d: %s", width, n, line)
			}
		}
	}
}

// TestHeatColumn gives heat lines a third of what numbers leave, unless that is too little.
// TestStackThatCannotBeRead has a group whose stack is not known beside one whose stack is.
func TestStackThatCannotBeRead(t *testing.T) {
	stack := &event.Stack{PCs: []uint64{16}}
	missing := errors.New("the kernel gave no stack")
	group := func(by ...event.Arg) total.Group { return total.Group{By: by, Count: 2} }
	for _, test := range []struct {
		keys   []string
		groups []total.Group
		want   string
	}{
		{[]string{"stack"}, []total.Group{group(event.Arg{Value: stack}), group(event.Arg{Err: missing})},
			"count\n    2\n\t[unknown] (0x10)\n    2\n\t?(the kernel gave no stack)\n"},
		{[]string{"a", "stack"}, []total.Group{group(event.Arg{Value: 1}, event.Arg{Err: missing}), group(event.Arg{Value: 2}, event.Arg{Value: stack})},
			"count  a\n    2  1\n\t?(the kernel gave no stack)\n    2  2\n\t[unknown] (0x10)\n"},
		{[]string{"stack"}, []total.Group{group(event.Arg{Value: stack}), {By: []event.Arg{{}}, Other: true, Count: 2}},
			"count\n    2\n\t[unknown] (0x10)\n    2\n\t(other)\n"},
		{[]string{"stack"}, []total.Group{group(event.Arg{Err: missing})},
			"count  stack\n    2  ?(the kernel gave no stack)\n"},
	} {
		table := Table{Keys: test.keys, Of: "events"}
		got := string(appendTable(nil, &table, &Interval{Groups: test.groups}))
		if _, got, _ = strings.Cut(got, "\n"); got != test.want {
			t.Errorf("%q:\ngot  %q\nwant %q", test.keys, got, test.want)
		}
	}
}

func TestHeatColumn(t *testing.T) {
	for width, want := range map[int]int{50: 0, 60: 7, 80: 14, 120: 16} {
		table, got := Table{Keys: []string{"sql(query)"}, Names: []string{"sum", "avg", "min", "max"}, Of: "pairs", Width: width, Drawn: true}, 0
		text := string(appendTable(nil, &table, &Interval{Unit: "ns", Groups: statements()[:2], Heat: func(columns int) []string {
			got = columns
			return []string{strings.Repeat("█", columns), strings.Repeat("░", columns)}
		}}))
		if got != want || strings.Contains(text, "heat") != (want > 0) {
			t.Errorf("%d columns: heat lines have %d, want %d, in\n%s", width, got, want, text)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(line) - 1; n > width {
				t.Errorf("%d columns do not hold %d: %s", width, n, line)
			}
		}
	}
}

// TestIntervals writes intervals below each other: one line of names, and an empty line and the time
// between the rows of two, or rows with times if each interval has one.
func TestIntervals(t *testing.T) {
	at := time.Date(2026, 11, 26, 22, 55, 34, 0, time.UTC)
	interval := func(n uint64, by ...event.Arg) *Interval {
		at = at.Add(time.Second)
		return &Interval{At: at, Took: time.Second, Events: n, Groups: []total.Group{{By: by, Count: n}}}
	}
	keyed, alone := Table{Keys: []string{"path"}, Of: "events"}, Table{Of: "events"}
	path := event.Arg{Name: "path", Value: "/"}
	got := string(appendTable(appendTable(nil, &keyed, interval(5, path)), &keyed, interval(123_456, path)))
	if want := "22:55:35.000000  5 events in 1s\ncount  path\n    5  \"/\"\n\n22:55:36.000000  123,456 events in 1s\n123,456  \"/\"\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = string(appendTable(appendTable(nil, &alone, interval(5)), &alone, interval(6)))
	if want := "           time  count\n22:55:37.000000      5\n22:55:38.000000      6\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestPair writes pairs, in which arguments that both events have stand once unless they differ.
func TestPair(t *testing.T) {
	at := time.Date(2026, 11, 26, 22, 55, 34, 0, time.UTC)
	ev := func(name string, args ...event.Arg) event.Event {
		return event.Event{Time: at, PID: 7, Comm: "db", Provider: "db", Name: name, Args: args}
	}
	query, peer := event.Arg{Name: "query", Value: "SELECT 1"}, event.Arg{Name: "peer", Value: event.Struct{{Name: "port", Value: uint64(80)}}}
	pair := &attach.Pair{
		Start: ev("start", query, event.Arg{Name: "n", Value: uint64(1)}, peer),
		End:   ev("done", query, event.Arg{Name: "n", Value: uint64(2)}), Took: 23_724_001,
	}
	want := "22:55:34.000000 db/7 latency=23.7ms db:start query=\"SELECT 1\" n=1 peer={port=80} -> db:done n=2\n"
	if got := string(appendPair(nil, pair)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	fields := Fields{"latency", "pid", "peer.port", "query"}
	p, err := fields.PickPair(pair, true)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(fields.appendText(nil, p)), "latency=23.7ms 7 peer.port=80 query=\"SELECT 1\"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := (Fields{"peer.name"}).PickPair(pair, true); err == nil {
		t.Error("an argument that no event has is no error")
	}
}

// TestHist writes buckets on both sides of zero, and many empty ones as one.
func TestHist(t *testing.T) {
	g := total.Group{Hist: []total.Bucket{
		{Lo: -4, Hi: -2, N: 4}, {Lo: -2, Hi: -1}, {Lo: -1, Hi: 0, N: 1}, {Lo: 0, Hi: 1}, {Lo: 1, Hi: 2}, {Lo: 2, Hi: 4}, {Lo: 4, Hi: 8}, {Lo: 8, Hi: 16, N: 2},
	}}
	const want = `      -4 - -2           4 |###########
      -2 - -1           0 |
      -1 - 0            1 |##
       0 - 8            0 |
       8 - 16           2 |#####
`
	if got := string(AppendHist(nil, &g, "", false, 38)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
