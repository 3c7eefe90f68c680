package remark

import (
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestMatched says what became of starts and ends in one short line, without zeros.
func TestMatched(t *testing.T) {
	for _, c := range []struct {
		stats attach.PairStats
		where string // that the user has given
		want  string
	}{
		{attach.PairStats{Pairs: 49}, "", "49 pairs"},
		{attach.PairStats{Pairs: 8, Fast: 6, Unstarted: 1}, "", "2 slow ones of 8 pairs, 1 end without a start"},
		{attach.PairStats{Pairs: 8, Replaced: 16}, "", "8 pairs, 16 starts that another start followed before an end"},
		{attach.PairStats{Pairs: 1, Dropped: 2, Pending: 3, Evicted: 4, TooDeep: 5}, "n == 1", "1 pair, 2 pairs that conditions leave out, 3 starts without an end, 4 starts evicted since the table was full, 5 starts evicted since more than 32 nested"},
		{attach.PairStats{Pairs: 8, Dropped: 8}, "", "8 pairs"}, // by the condition of a known provider
	} {
		var stderr strings.Builder
		if got := matched(&stderr, &c.stats, c.where); got != c.want || stderr.Len() > 0 {
			t.Errorf("%+v: %q, want %q; on stderr %q", c.stats, got, c.want, &stderr)
		}
	}
}

func TestLonely(t *testing.T) {
	for _, c := range []struct {
		stats attach.PairStats
		want  string // "" for nothing
	}{
		{attach.PairStats{}, ""},
		{attach.PairStats{Pairs: 1, Pending: 3, Unstarted: 3}, ""},
		{attach.PairStats{Dropped: 1, Pending: 3, Unstarted: 3}, ""},
		{attach.PairStats{Torn: 1, Unstarted: 3}, ""},
		{attach.PairStats{Pending: 3}, "no end has fired"},
		{attach.PairStats{TooDeep: 3}, "no end has fired"},
		{attach.PairStats{Replaced: 3}, "no end has fired"},
		{attach.PairStats{Unstarted: 3}, "no start has fired"},
		{attach.PairStats{Evicted: 1, Unstarted: 3}, "A,machine between processes"},
	} {
		if got := lonely(&c.stats, "", false); (got == "") != (c.want == "") || !strings.Contains(got, c.want) || len(got) > 160 {
			t.Errorf("%+v: %q, want %q", c.stats, got, c.want)
		}
	}
}
