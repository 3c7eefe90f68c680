package screen_test

import (
	"testing"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
)

func TestFold(t *testing.T) {
	const summary = "sdttrace: 12 pairs; 24 events, 0 lost; a-word-that-is-wider-than-the-terminal-is-whole end\n"
	for _, c := range []struct {
		text          string
		columns, hang int
		want          string
	}{
		{summary, 0, 2, summary},
		{summary, 90, 2, summary},
		{summary, 30, 2, "sdttrace: 12 pairs; 24 events,\n  0 lost;\n  a-word-that-is-wider-than-the-terminal-is-whole\n  end\n"},
		{"  --by A    a group for each\n", 24, 0, "  --by A    a group for\n            each\n"},
		{"  sdttrace count --by pid    busiest\n", 25, 0, "  sdttrace count --by pid\n      # busiest\n"},
		{"µµµµ µµµµ\n\n", 9, 0, "µµµµ µµµµ\n\n"},
	} {
		if got := screen.Fold(c.text, c.columns, c.hang); got != c.want {
			t.Errorf("%d columns:\n%s\nwant\n%s", c.columns, got, c.want)
		}
	}
}

// TestJoin makes one line of what was broken for 100 columns, and leaves rows and examples.
func TestJoin(t *testing.T) {
	const text = "A paragraph\nof two lines.\n  an example\n  another\n\nFlags\n  -p PID   these\n           processes\n  -q       only\n\nLast.\n"
	const want = "A paragraph of two lines.\n  an example\n  another\n\nFlags\n  -p PID   these processes\n  -q       only\n\nLast.\n"
	if got := screen.Join(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
