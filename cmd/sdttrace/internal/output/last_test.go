package output_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
)

func TestLast(t *testing.T) {
	for _, c := range []struct {
		most, lines int
		want        string
	}{
		{3, 0, ""}, {3, 2, "0 1 "}, {3, 3, "0 1 2 "}, {3, 7, "4 5 6 "}, {1, 5, "4 "},
	} {
		last := output.NewLast(c.most)
		for i := range c.lines {
			fmt.Fprintf(last, "%d ", i)
			last.Write(nil)
		}
		var got strings.Builder
		if n, err := last.WriteTo(&got); got.String() != c.want || n != int64(len(c.want)) || err != nil {
			t.Errorf("the last %d of %d lines: %q, %d bytes, %v, want %q", c.most, c.lines, got.String(), n, err, c.want)
		}
	}
}
