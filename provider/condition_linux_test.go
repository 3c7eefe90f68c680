//go:build !usdt_nolocal

package provider_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/provider"
)

// floatOrder is what FORMAT.md says of floats in conditions.
func floatOrder(bits uint64) uint64 {
	switch {
	case bits<<1 == 0:
		return 0
	case bits>>63 == 1:
		return bits ^ math.MaxInt64
	}
	return bits
}

// TestLocalConditions compares numbers of all kinds with constants of all kinds by all
// operators, in probes and in records, and compares the answers with Go's.
func TestLocalConditions(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what the service compares")
	}
	p := offered(t)
	numbers := provider.NewProbe6[int8, uint8, int64, uint64, float64, float32](p, "numbers", "a", "b", "c", "d", "e", "f")
	type fields struct {
		A int8
		B uint8
		C int64
		D uint64
		E float64
		F float32
	}
	record := provider.NewStructProbe[fields](p, "record")
	load(t, p)
	values := []fields{
		{0, 0, 0, 0, 0, 0}, {-1, 255, -1, math.MaxUint64, math.Copysign(0, -1), -1.5}, {127, 127, math.MaxInt64, 1 << 63, math.Inf(1), float32(math.Inf(-1))},
		{-128, 128, math.MinInt64, 1<<63 - 1, math.NaN(), float32(math.NaN())}, {5, 5, 5, 5, 5, 5}, {6, 6, 6, 6, 5.000001, 5.5}, {4, 4, -5, 4, -math.MaxFloat64, math.SmallestNonzeroFloat32},
	}
	constants := []float64{0, -1, 5, 255, 127, -128, 1e300, 5.5}
	if testing.Short() {
		constants = []float64{-1, 5, 5.5}
	}
	ops := []rendezvous.Op{rendezvous.Equal, rendezvous.Differs, rendezvous.Less, rendezvous.LessEqual, rendezvous.Greater, rendezvous.GreaterEqual}
	holds := func(op rendezvous.Op, order int) bool {
		return [...]bool{order == 0, order != 0, order < 0, order <= 0, order > 0, order >= 0}[op]
	}
	offsets := [2][6]uint32{{0, 8, 16, 24, 32, 40}, {0, 1, 8, 16, 24, 32}}
	for which, probe := range []string{"numbers", "record"} {
		for field := range 6 {
			for _, c := range constants {
				for _, op := range ops {
					term := rendezvous.Term{Offset: offsets[which][field], Op: op}
					var order func(fields) (int, bool)
					signed := func(of func(fields) int64, size uint8) {
						term.Kind, term.Size, term.Value = rendezvous.Signed, size, uint64(int64(c))
						order = func(v fields) (int, bool) { return cmp.Compare(of(v), int64(c)), true }
					}
					unsigned := func(of func(fields) uint64, size uint8) {
						term.Kind, term.Size, term.Value = rendezvous.Unsigned, size, uint64(int64(c))
						order = func(v fields) (int, bool) { return cmp.Compare(of(v), uint64(int64(c))), true }
					}
					if field < 4 && (c != math.Trunc(c) || math.Abs(c) > 1e18) {
						continue
					}
					switch field {
					case 0:
						signed(func(v fields) int64 { return int64(v.A) }, 1)
					case 1:
						unsigned(func(v fields) uint64 { return uint64(v.B) }, 1)
					case 2:
						signed(func(v fields) int64 { return v.C }, 8)
					case 3:
						unsigned(func(v fields) uint64 { return v.D }, 8)
					case 4:
						term.Kind, term.Size, term.Value = rendezvous.Float, 8, floatOrder(math.Float64bits(c))
						order = func(v fields) (int, bool) { return cmp.Compare(v.E, c), v.E == v.E }
					case 5:
						term.Kind, term.Size, term.Value = rendezvous.Float, 4, floatOrder(uint64(math.Float32bits(float32(c)))<<32)
						order = func(v fields) (int, bool) { return cmp.Compare(v.F, float32(c)), v.F == v.F }
					}
					tr := attachTo(t, os.Getpid(), p.Name(), watching{size: 1, probe: probe, where: []rendezvous.Term{term}})
					want := 0
					for _, v := range values {
						if probe == "numbers" {
							numbers.Fire(v.A, v.B, v.C, v.D, v.E, v.F)
						} else {
							record.Fire(&v)
						}
						if o, ok := order(v); ok && holds(op, o) {
							want++
						}
					}
					got := len(tr.all(t))
					if n := tr.Ring.Counts(); got != want || n.Filtered != uint64(len(values)-want) {
						t.Errorf("%s: field %d, operator %d, %v: %d events, counts %+v, want %d", probe, field, op, c, got, n, want)
					}
					tr.Close()
				}
			}
		}
	}
}

// TestLocalClauses checks conditions of several terms, and conditions that do not fit.
func TestLocalClauses(t *testing.T) {
	p := offered(t)
	two := provider.NewProbe3[int64, int64, string](p, "two", "a", "b", "s")
	load(t, p)
	is := func(slot uint32, value uint64, or bool) rendezvous.Term {
		return rendezvous.Term{Offset: 8 * slot, Size: 8, Kind: rendezvous.Signed, Op: rendezvous.Equal, Value: value, Or: or}
	}
	for _, c := range []struct {
		where []rendezvous.Term
		want  string
	}{
		{nil, "11 12 21 22 "},
		{[]rendezvous.Term{is(0, 1, false), is(1, 2, false)}, "12 "},
		{[]rendezvous.Term{is(0, 1, true), is(1, 2, false)}, "11 12 22 "},
		{[]rendezvous.Term{is(0, 1, true), is(1, 2, true)}, "11 12 22 "},
		{[]rendezvous.Term{is(0, 1, true), is(0, 2, false), is(1, 1, false)}, "11 21 "},
		{[]rendezvous.Term{is(1, 1, false), is(0, 7, true), is(0, 2, false)}, "21 "},
		{[]rendezvous.Term{is(0, 7, true), is(0, 8, true), is(0, 9, false)}, ""},
		{[]rendezvous.Term{is(3, 2, false)}, "12 21 "}, // the length of the string
		{[]rendezvous.Term{is(3, 2, false), is(0, 1, false)}, "12 "},
	} {
		tr := attachTo(t, os.Getpid(), p.Name(), watching{size: 1, where: c.where})
		for a := range int64(2) {
			for b := range int64(2) {
				two.Fire(a+1, b+1, "xyz"[:1+(a+b)%2])
			}
		}
		got := ""
		for _, ev := range tr.all(t) {
			got += fmt.Sprint(ev.Args[0].Value, ev.Args[1].Value)[:1] + fmt.Sprint(ev.Args[1].Value) + " "
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.where, got, c.want)
		}
		tr.Close()
	}
	for _, bad := range []rendezvous.Term{
		{Offset: 32, Size: 8}, {Offset: 1 << 31, Size: 8}, {Size: 3}, {Size: 16}, {Size: 2, Kind: rendezvous.Float}, {Size: 8, Kind: 9},
	} {
		if _, err := connect(t.Context(), os.Getpid(), p.Name(), watching{size: 1, where: []rendezvous.Term{bad}}); err == nil {
			t.Errorf("%+v is fine", bad)
		}
	}
}

// TestLocalSample checks that one in N events arrives, and that the others are counted.
func TestLocalSample(t *testing.T) {
	p := offered(t)
	one := provider.NewProbe1[int](p, "one", "n")
	load(t, p)
	tr := attachTo(t, os.Getpid(), p.Name(), watching{sample: 10, where: []rendezvous.Term{{Size: 8, Kind: rendezvous.Signed, Op: rendezvous.Less, Value: 1000}}})
	for i := range 2000 {
		one.Fire(i)
	}
	got := len(tr.all(t))
	if n := tr.Ring.Counts(); got < 100 || got > 164 || n.Fired() != 2000 || n.Recorded != uint64(got) {
		t.Errorf("%d events, counts %+v", got, n)
	}
}
