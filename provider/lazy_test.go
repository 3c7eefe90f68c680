//go:build linux

package provider_test

import (
	"strings"
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// lazy is a program with probes of all arities, whose arguments are made by closures.
type lazy struct {
	made int
	size int
	text string
	fire []func()
}

type made struct {
	N    int
	Text string
	Err  provider.Text
}

func newLazy(p *provider.Provider) *lazy {
	l := &lazy{size: 3, text: "text"}
	p1 := provider.NewProbe1[int](p, "one", "a")
	p2 := provider.NewProbe2[int, string](p, "two", "a", "b")
	p3 := provider.NewProbe3[int, string, int](p, "three", "a", "b", "c")
	p4 := provider.NewProbe4[int, string, int, int](p, "four", "a", "b", "c", "d")
	p5 := provider.NewProbe5[int, string, int, int, bool](p, "five", "a", "b", "c", "d", "e")
	p6 := provider.NewProbe6[int, string, int, int, bool, []byte](p, "six", "a", "b", "c", "d", "e", "f")
	record := provider.NewStructProbe[made](p, "record")
	n, s := l.size, l.text
	bytes := []byte("bytes")
	l.fire = []func(){
		func() { p1.FireFunc(func() int { l.made++; return n }) },
		func() { p2.FireFunc(func() (int, string) { l.made++; return n, s }) },
		func() { p3.FireFunc(func() (int, string, int) { l.made++; return n, s, 3 }) },
		func() { p4.FireFunc(func() (int, string, int, int) { l.made++; return n, s, 3, 4 }) },
		func() { p5.FireFunc(func() (int, string, int, int, bool) { l.made++; return n, s, 3, 4, true }) },
		func() {
			p6.FireFunc(func() (int, string, int, int, bool, []byte) { l.made++; return n, s, 3, 4, true, bytes })
		},
		func() { record.FireFunc(func() made { l.made++; return made{N: n, Text: s} }) },
	}
	return l
}

// TestFireFunc checks that closures are called once a firing while somebody watches, never
// else, that what they return arrives, and that neither allocates.
func TestFireFunc(t *testing.T) {
	p := newProvider("lazy")
	l := newLazy(p)
	load(t, p)
	for i, fire := range l.fire {
		if n := testing.AllocsPerRun(100, fire); n != 0 || l.made != 0 {
			t.Errorf("unwatched, %d: %v allocations, want 0; %d calls, want 0", i, n, l.made)
		}
	}
	provider.Watch(p, 1)
	for i, fire := range l.fire {
		l.made = 0
		if n := testing.AllocsPerRun(100, fire); n != 0 || l.made != 101 {
			t.Errorf("watched, %d: %v allocations, want 0; %d calls, want 101", i, n, l.made)
		}
	}
	provider.Watch(p, -1)
	rec := providertest.Record(t, p)
	for _, fire := range l.fire {
		fire()
	}
	var got []string
	for _, ev := range rec.All() {
		got = append(got, string(event.Struct(ev.Args).AppendJSON(nil)))
	}
	if got, want := strings.Join(got, "\n"), `{"a":3}
{"a":3,"b":"text"}
{"a":3,"b":"text","c":3}
{"a":3,"b":"text","c":3,"d":4}
{"a":3,"b":"text","c":3,"d":4,"e":true}
{"a":3,"b":"text","c":3,"d":4,"e":true,"f":"Ynl0ZXM="}
{"N":3,"Text":"text","Err":""}`; got != want {
		t.Errorf("fired:\n%s\nwant:\n%s", got, want)
	}
}
