package remark

import (
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

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
		{attach.PairStats{Unstarted: 3}, "no start has fired"},
		{attach.PairStats{Evicted: 1, Unstarted: 3}, "with machine among them"},
	} {
		if got := lonely(&c.stats); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.stats, got, c.want)
		}
	}
}
