package profile

import (
	"bytes"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/go-usdt/usdt/symbols"
)

// ofCalls returns a profile of so many events whose stacks are these, the innermost function first.
func ofCalls(stacks map[int64][]string) *Profile {
	p := New("")
	for n, names := range stacks {
		s := &sample{comm: "srv", texts: []text{{"probe", "a:b"}}}
		for _, name := range names {
			s.stack = append(s.stack, p.callsOf([]symbols.Frame{{Func: name, Module: "/srv", Offset: uint64(name[0])}}))
		}
		p.add(s, n)
	}
	return p
}

// TestDiff compares profiles in each format.
func TestDiff(t *testing.T) {
	diff := func() *Diff {
		return &Diff{Base: ofCalls(map[int64][]string{5: {"read", "main"}, 2: {"gone", "main"}}), Now: ofCalls(map[int64][]string{9: {"read", "main"}, 1: {"new;one", "main"}})}
	}
	var text, folded, pprof bytes.Buffer
	for _, write := range []func() error{func() error { return diff().WriteText(&text) }, func() error { return diff().WriteFolded(&folded) }, func() error { return diff().WritePprof(&pprof) }} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	want := `before  after change  events, count
     5      9     +4  read
     7     10     +3  main
     2      0     -2  gone
     0      1     +1  new;one
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &text, want)
	}
	if want := "srv;main;read 5 9\nsrv;main;new:one 0 1\nsrv;main;gone 2 0\n"; folded.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &folded, want)
	}
	p, err := profile.Parse(&pprof)
	if err != nil {
		t.Fatal(err)
	}
	sums, bases := map[string]int64{}, 0
	for _, s := range p.Sample {
		sums[s.Location[0].Line[0].Function.Name] += s.Value[0]
		if s.DiffBaseSample() != (s.Value[0] < 0) {
			t.Errorf("a sample of %d has the labels %v", s.Value[0], s.Label)
		} else if s.Value[0] < 0 {
			bases++
		}
	}
	if len(sums) != 3 || sums["read"] != 4 || sums["gone"] != -2 || sums["new;one"] != 1 || bases != 2 {
		t.Errorf("the sums are %v with %d samples of the base, want read 4, gone -2, new;one 1, and 2", sums, bases)
	}
}
