package groups

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/total"
)

// TestHeat draws the values of the last intervals, at equal places in all lines.
func TestHeat(t *testing.T) {
	group := func(key string, first int, counts ...uint64) total.Group {
		g := total.Group{By: []event.Arg{{Name: "k", Value: key}}}
		for i, n := range counts {
			g.Hist = append(g.Hist, total.Bucket{Lo: float64(int(1) << (first + i)), Hi: float64(int(2) << (first + i)), N: n})
		}
		return g
	}
	h := heats{}
	if lines, _, _ := heatLines(h.add([]total.Group{group("idle", 0)}), 16); lines != nil {
		t.Errorf("no values are drawn as %q", lines)
	}
	for range intervals {
		h.add([]total.Group{group("old", 9, 1)})
	}
	var rows [][]total.Bucket
	for range intervals { // after which the old values are forgotten
		rows = h.add([]total.Group{group("slow", 4, 1, 0, 100), group("fast", 0, 10, 5, 3), group("old", 0)})
	}
	for _, test := range []struct {
		columns int
		want    []string
	}{
		{16, []string{"   ░ █", "█▓▒   ", "      "}},
		{3, []string{" ░█", "█░ ", "   "}},
	} {
		lines, lo, hi := heatLines(rows, test.columns)
		if !slices.Equal(lines, test.want) || lo != 1 || hi != 128 {
			t.Errorf("%d columns from %v to %v: got\n%s\nwant\n%s", test.columns, lo, hi, strings.Join(lines, "|\n"), strings.Join(test.want, "|\n"))
		}
	}
	if len(h) != 3 {
		t.Errorf("%d groups are remembered, want 3", len(h))
	}
}
