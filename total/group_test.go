package total

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
)

// TestCompareKeys orders groups: missing keys, numbers, text, and the group of others.
func TestCompareKeys(t *testing.T) {
	key := func(v any) Group { return Group{By: []event.Arg{{Name: "k", Value: v}}} }
	want := []Group{key(nil), key(int64(-5)), key(uint64(3)), key(uint64(20)), key("a"), key("b"), {Other: true}}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b Group) int { return a.CompareKeys(&b) })
	for i := range want {
		if got[i].Other != want[i].Other || !want[i].Other && got[i].By[0].Value != want[i].By[0].Value {
			t.Errorf("place %d has %+v, want %+v", i, got[i], want[i])
		}
	}
}

// TestJSON writes groups as JSON, with what was asked for and nothing else.
func TestJSON(t *testing.T) {
	for _, test := range []struct {
		group Group
		want  string
	}{
		{Group{Count: 3}, `{"by":{},"count":3}`},
		{Group{By: []event.Arg{{Name: "k"}}, Other: true, Count: 1}, `{"by":{"k":null},"other":true,"count":1}`},
		{
			Group{
				By:    []event.Arg{{Name: "k", Value: "a"}, {Name: "n", Err: errors.New("it is not there")}},
				Count: 2, Sum: int64(-4), Avg: -2.0, Min: int64(-3), Max: int64(-1), Stddev: 1.0,
				Quantiles: []Quantile{{Percent: 50, Value: int64(-3)}, {Percent: 99.9, Value: int64(-1)}},
				Hist:      []Bucket{{Lo: math.Inf(-1), Hi: 0, N: 2}}, Meaning: reader.Plain,
			},
			`{"by":{"k":"a","n":null},"count":2,"sum":-4,"avg":-2,"min":-3,"max":-1,"stddev":1,` +
				`"quantiles":{"p50":-3,"p99.9":-1},"hist":[{"lo":"-Inf","hi":0,"n":2}],"errors":{"n":"it is not there"}}`,
		},
	} {
		got, err := test.group.MarshalJSON()
		if string(got) != test.want || err != nil {
			t.Errorf("%s\nwant %s, error %v", got, test.want, err)
		}
		test.group.From, test.group.At = time.Unix(0, 0), time.Unix(1, 0).UTC() // which the caller names
		if got, want := string(test.group.AppendJSON(nil, test.group.At)), `{"time":"1970-01-01T00:00:01.000000000Z",`+test.want[1:]; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	q := Quantile{Percent: 99.9}
	if got, want := q.Name(), "p99.9"; got != want {
		t.Errorf("the name of a quantile is %s, want %s", got, want)
	}
}

// TestHide hides each value that has one, and no other.
func TestHide(t *testing.T) {
	for _, v := range values {
		g := Group{Quantiles: []Quantile{{50, 6.0}}}
		for i, w := range values {
			*w.of(&g) = float64(i)
		}
		g.Hide(v.name)
		for _, w := range values {
			if hidden := g.Value(w.name) == nil; hidden != (w.name == v.name) {
				t.Errorf("%s is hidden: %s is %v", v.name, w.name, g.Value(w.name))
			}
		}
		if g.Value("p50") != 6.0 {
			t.Errorf("%s is hidden: the median is %v, want 6", v.name, g.Value("p50"))
		}
	}
}
