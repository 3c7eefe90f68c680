package sums

import (
	"bytes"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// TestResults checks that each function sets a value of groups that their JSON has.
func TestResults(t *testing.T) {
	group := func(f query.FunctionSet) []byte {
		l := &bind.Layout{Layout: query.Layout{Wanted: query.Computation{Value: "n", Functions: f}, Value: query.Input{Kind: reader.Uint, Size: 8}}}
		v := l.Wanted.Values()
		places, n := v.Places(reader.Uint)
		words := make([]uint64, n)
		words[query.WordCount]++
		for _, p := range places {
			p.Add(words, &query.Addend{Values: &v, Value: &l.Value, Bits: 7, Sum: 7})
		}
		var g total.Group
		w := wordsOf(l, places)
		w.all = words
		decode(&g, nil, w, nil, nil)
		b, err := g.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	without := group(0)
	seen := map[string]query.Function{}
	for f := range query.Functions {
		if results[f] == nil {
			t.Fatalf("nothing is made of function %d", f)
		}
		b := group(query.Of(f))
		if other, twice := seen[string(b)]; twice || bytes.Equal(b, without) {
			t.Errorf("function %d gives %s, as function %d does or as none", f, b, other)
		}
		seen[string(b)] = f
	}
}
