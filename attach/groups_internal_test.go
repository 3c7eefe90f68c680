package attach

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/numbering"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/sums"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/order"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// TestCompareArgs orders keys of groups.
func TestCompareArgs(t *testing.T) {
	want := []event.Arg{
		{Err: errors.New("a")}, {Err: errors.New("b")}, {Value: int64(-10)}, {Value: int64(-9)}, {Value: int64(2)}, {Value: int64(10)},
	}
	for name, values := range map[string][]event.Arg{
		"numbers": want,
		"texts":   {{}, {Value: ""}, {Value: "10"}, {Value: "9"}, {Value: "a"}},
		"floats":  {{Value: -1.5}, {Value: 0.5}, {Value: 10.}},
		"uints":   {{Value: uint64(9)}, {Value: uint64(1 << 63)}},
		"meant":   {{Value: -time.Hour}, {Value: 9 * time.Minute}, {Value: 10 * time.Hour}},
		"addrs":   {{Value: netip.Addr{}}, {Value: netip.MustParseAddr("9.0.0.1")}, {Value: netip.MustParseAddr("10.0.0.1")}},
		"times":   {{Value: time.Unix(9, 0)}, {Value: time.Unix(10, 0)}},
		"bools":   {{Value: false}, {Value: true}},
	} {
		got := slices.Clone(values)
		slices.Reverse(got)
		slices.SortFunc(got, order.Args)
		if fmt.Sprint(got) != fmt.Sprint(values) {
			t.Errorf("%s: got %v, want %v", name, got, values)
		}
	}
}

// unsortedGroups returns groups, about eighty of each size, by text and a number.
func unsortedGroups() []total.Group {
	groups := make([]total.Group, 8192)
	for i := range groups {
		groups[i] = total.Group{Count: uint64(i % 100), By: []event.Arg{{Name: "path", Value: fmt.Sprintf("/%d", i*7919%8192)}, {Name: "status", Value: int64(-i)}}}
	}
	return groups
}

// BenchmarkSortGroups sorts groups, many of them equally large.
func BenchmarkSortGroups(b *testing.B) {
	groups := unsortedGroups()
	sorted := make([]total.Group, len(groups))
	for b.Loop() {
		copy(sorted, groups)
		sums.Sort(sorted)
	}
}

// TestSortGroups checks that groups are compared without making text of them.
func TestSortGroups(t *testing.T) {
	groups := unsortedGroups()
	var sorted []total.Group
	if n := testing.AllocsPerRun(1, func() { sorted = append(sorted[:0], groups...); sums.Sort(sorted) }); n > float64(len(groups)/10) { // others may allocate meanwhile
		t.Errorf("%v allocations to sort %d groups", n, len(groups))
	}
	for i := range sorted[1:] {
		a, b := &sorted[i], &sorted[i+1]
		if a.Count < b.Count || a.Count == b.Count && a.By[0].Value.(string) >= b.By[0].Value.(string) {
			t.Fatalf("%+v comes before %+v", a, b)
		}
	}
}

// fill puts groups into a map as programs would, and returns their number.
func fill(t testing.TB, l *bind.Layout, m *ebpf.Map, n int) {
	t.Helper()
	key, words := make([]byte, l.KeySize), make([]byte, 8*l.Words())
	for i := range n {
		binary.NativeEndian.PutUint64(key, uint64(i+1)) // no process is 0
		binary.NativeEndian.PutUint64(words[8*query.WordCount:], uint64(i+1))
		var value any = words
		if m.Type() == ebpf.PerCPUHash {
			value = [][]byte{words}
		}
		if err := m.Put(key, value); err != nil {
			t.Fatal(err)
		}
	}
}

// newGroups returns an aggregate by a number that has maps and nothing else.
func newGroups(t testing.TB, wanted Aggregation, cpus int) (*totals, *load.Maps) {
	t.Helper()
	l := &bind.Layout{Layout: query.Layout{Wanted: wanted.wanted, CPUs: cpus, Bound: true, Parts: []query.Part{{In: query.Input{Source: query.InputPID, Kind: reader.Uint, Size: 4}, Size: 8}}, KeySize: 8}}
	l.Wanted.By = []string{"pid"}
	m := &load.Maps{}
	t.Cleanup(func() { m.Close() })
	if err := m.AddGroups(l); err != nil {
		if errors.Is(err, os.ErrPermission) {
			needs.Skip(t, "%v", privilege.Explain("create groups", err))
		}
		t.Fatal(err)
	}
	a := &totals{tracing: tracing{layout: l}}
	a.sites.Store(&numbering.Table{})
	return a, m
}

// readGroups returns the groups in a map, and empties it.
func readGroups(a *totals, m *ebpf.Map) ([]total.Group, error) {
	all := sums.New(a.layout, map[string][]uint64{})
	err := load.TakeGroups(m, a.layout, all.Add)
	return a.groupsOf(all), err
}

// TestTakeGroups takes more groups than one system call returns, and leaves none.
func TestTakeGroups(t *testing.T) {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		wanted Aggregation
		cpus   int
	}{
		{Count(), cpus},
		{Hist("x").MaxGroups(8192), cpus},
		{Hist("x").MaxGroups(8192), 256}, // shared
	} {
		a, m := newGroups(t, test.wanted, test.cpus)
		for _, n := range []int{8192, 1, 0} {
			fill(t, a.layout, m.Groups[0], n)
			groups, err := readGroups(a, m.Groups[0])
			if err != nil || len(groups) != n {
				t.Fatalf("%+v: %d groups, error %v, want %d", test.wanted, len(groups), err, n)
			}
			for i, g := range groups {
				if want := uint64(n - i); g.Count != want || g.By[0].Value != want {
					t.Fatalf("%+v: group %d is %+v, want %d events of pid %d", test.wanted, i, g, want, want)
				}
			}
		}
	}
}

// BenchmarkReadGroups measures what a call of Read does with 8192 groups.
func BenchmarkReadGroups(b *testing.B) {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		b.Fatal(err)
	}
	a, m := newGroups(b, Count(), cpus)
	for b.Loop() {
		b.StopTimer()
		fill(b, a.layout, m.Groups[0], 8192)
		b.StartTimer()
		if groups, err := readGroups(a, m.Groups[0]); err != nil || len(groups) != 8192 {
			b.Fatalf("%d groups, error %v", len(groups), err)
		}
	}
}

// TestSharedGroups checks that machines with many CPUs do not keep a histogram
// per CPU.
func TestSharedGroups(t *testing.T) {
	for _, test := range []struct {
		wanted Aggregation
		cpus   int
		want   bool
	}{
		{Hist(""), 2, false},
		{Hist(""), 32, false},
		{Hist(""), 256, true},
		{Hist("").MaxGroups(1 << 20), 2, true},
		{Count(), 256, false},
	} {
		l := &bind.Layout{Layout: query.Layout{Wanted: test.wanted.wanted, CPUs: test.cpus, KeySize: 8}}
		if got := l.Shared(); got != test.want {
			t.Errorf("%+v with %d CPUs: shared %t, want %t", test.wanted, test.cpus, got, test.want)
		}
	}
	_, m := newGroups(t, Hist("x"), 256)
	for _, g := range m.Groups {
		info, err := g.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes, ok := info.Memlock()
		if g.Type() != ebpf.Hash || ok && bytes > 4<<20 {
			t.Errorf("groups are %v of %d bytes, want a hash of 4 MiB at most", g.Type(), bytes)
		}
	}
}
