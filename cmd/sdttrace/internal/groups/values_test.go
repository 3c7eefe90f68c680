package groups

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/total"
)

// TestValues checks what --show and --quantiles choose, beside what a verb shows by itself.
func TestValues(t *testing.T) {
	latency := Values{Names: []string{"sum", "avg"}, Hist: true}
	stats := Values{Names: []string{"avg", "p50", "p99"}}
	for _, test := range []struct {
		own      Values
		given    Show
		names    string
		percents []float64
		hist     bool
	}{
		{latency, Show{}, "sum avg", nil, true},
		{latency, Show{Names: []string{"p50", "p99"}}, "p50 p99", []float64{50, 99}, false},
		{latency, Show{Names: []string{"max"}, Hist: true}, "max", nil, true},
		{latency, Show{Names: []string{"max"}, Steps: "0,2,1"}, "max", nil, true},
		{latency, Show{Quantiles: []float64{99.9}}, "sum avg p99.9", []float64{99.9}, true},
		{stats, Show{}, "avg p50 p99", []float64{50, 99}, false},
		{stats, Show{Quantiles: []float64{25}}, "avg p25", []float64{25}, false},
		{stats, Show{Names: []string{"rate", "sum"}}, "rate sum", nil, false},
		{stats, Show{Names: []string{"count"}, Hist: true}, "count", nil, true},
		{stats, Show{Names: []string{"p99.90", "p050", "p1e1"}}, "p99.9 p50 p10", []float64{99.9, 50, 10}, false},
		{Values{Hist: true}, Show{}, "", nil, true},
		{Values{Hist: true}, Show{Names: []string{"stddev"}}, "stddev", nil, true},
	} {
		got, err := test.given.Values(test.own)
		if err != nil || strings.Join(got.Names, " ") != test.names || !slices.Equal(got.Percents, test.percents) || got.Hist != test.hist {
			t.Errorf("%+v beside %+v: got %+v, %v", test.given, test.own, got, err)
		}
	}
	for _, name := range []string{"median", "p", "px", "p0", "sum ", "max,max", "count,count", "p50,p50.0"} {
		v, err := (&Show{Names: strings.Split(name, ",")}).Values(Values{})
		if name != "sum " && err == nil { // blanks do not matter
			t.Errorf("--show %s: %+v, want an error", name, v)
		}
	}
}

// TestComputed checks that --show has a name for each value that a group may have.
func TestComputed(t *testing.T) {
	group := reflect.TypeFor[total.Group]()
	for i := range group.NumField() {
		field := group.Field(i)
		if field.Type.Kind() != reflect.Interface {
			continue
		}
		var g total.Group
		reflect.ValueOf(&g).Elem().Field(i).Set(reflect.ValueOf(1.5))
		name := strings.ToLower(field.Name)
		if !slices.Contains(names(), name) || g.Value(name) != 1.5 {
			t.Errorf("groups have %s, but --show does not have %s, whose value is %v", field.Name, name, g.Value(name))
		}
		if g.Hide(name); g.Value(name) != nil {
			t.Errorf("%s is %v once it is hidden", name, g.Value(name))
		}
	}
}
