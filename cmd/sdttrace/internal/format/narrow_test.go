package format

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestNarrow breaks lines of pairs between arguments, and cuts an argument that is wider than a line.
func TestNarrow(t *testing.T) {
	const line = `10:30:00.000001 postgres/4711 latency=52.1ms postgresql:query__start query="SELECT abalance, \"a b\" FROM pgbench_accounts WHERE aid = 1" -> postgresql:query__done` + "\n\tmain (/src/main.c:1)\n"
	for columns, want := range map[int]string{
		0:   line,
		200: line,
		60: `10:30:00.000001 postgres/4711 latency=52.1ms
  postgresql:query__start
  query="SELECT abalance, \"a b\" FROM pgbench_accounts WHE…
  -> postgresql:query__done
` + "\tmain (/src/main.c:1)\n",
		20: "",
	} {
		got := string(Narrow(nil, []byte(line), columns))
		if columns != 20 && got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", columns, got, want)
		}
		for one := range strings.Lines(got) {
			if width := utf8.RuneCountInString(strings.ReplaceAll(strings.TrimSuffix(one, "\n"), "\t", "        ")); columns > 0 && width > columns {
				t.Errorf("%d columns: %q has %d", columns, one, width)
			}
		}
	}
	Narrow(nil, []byte(line+"\t\t\tx y zzzzzzzzzzzzzzzzzzzzzzzz\n\n"), 1)
}
