package attach_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() {
	roles["floats 4"] = tracee.Obey(floatsChild[float32]())
	roles["floats 8"] = tracee.Obey(floatsChild[float64]())
}

// floats are numbers of every kind that 4 bytes have, the infinite ones and NaN last.
var floats = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, 0.1, -2.5, 1e6, 1 << 30, 0x1p-126, -0x1p-127, 0x1.8p-130, 0x1p-142, 0x1p-149, -0x1.fffffcp-127,
	math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
}

// floatsChild fires them as numbers of a type: "load", "fire N" the first N, each before another
// probe, and "end N" those of a third one.
func floatsChild[T float32 | float64]() func(string) error {
	var value, end *provider.Probe1[T]
	var done *provider.Probe0
	return func(command string) error {
		var what string
		var n int
		switch fmt.Sscan(command, &what, &n); what {
		case "load":
			p := provider.New("floatsgo", nil)
			value, end, done = provider.NewProbe1[T](p, "value", "n"), provider.NewProbe1[T](p, "end", "n"), provider.NewProbe0(p, "done")
			return p.Load()
		case "fire":
			for _, v := range floats[:n] {
				value.Fire(T(v))
				done.Fire()
			}
		case "end":
			for _, v := range floats[:n] {
				end.Fire(T(v))
			}
		}
		return nil
	}
}

// TestFloats has the argument of one probe be a floating-point number of 4 bytes in one process
// and of 8 in another one, which may declare it later, and compares what is computed with what two
// times 8 bytes give.
func TestFloats(t *testing.T) {
	everyWay(t, func(t *testing.T) {
		narrow, wide := startChild(t, "floats 4"), startChild(t, "floats 8")
		narrow.Do("load")
		wide.Do("load")
		fire := func(n int, all ...*tracee.Program) {
			for _, p := range all {
				p.Do("fire %d", n)
			}
			for _, p := range slices.Backward(all) { // an end in the other process than its start
				p.Do("end %d", n)
			}
		}
		of := func(all ...*tracee.Program) *attach.Options {
			var o attach.Options
			for _, p := range all {
				o.Target.PIDs = append(o.Target.PIDs, p.PID())
			}
			return &o
		}
		for _, test := range []struct {
			what attach.Aggregation
			n    int
		}{
			{attach.Count().By("n"), len(floats)},
			{attach.Min("n").And(attach.Max("n"), attach.Hist("n")), len(floats)},
			{attach.Sum("n").And(attach.Stddev("n")), 8},
			{attach.Hist("n").Bounds(-1, 0.1, 0.5), len(floats)},
			{attach.Quantiles("n", 0.5, 0.99), 14},
		} {
			late := startChild(t, "floats 8")
			var groups [3][]string
			for i, all := range [][]*tracee.Program{{wide, wide}, {narrow, wide}, {narrow, late}} {
				opts := of(slices.Compact(slices.Clone(all))...)
				opts.Rescan = time.Hour
				a := openAggregate(t, []string{"floatsgo:value"}, test.what, opts)
				if all[1] == late {
					late.Do("load")
					if err := a.Rescan(); err != nil {
						t.Fatal(err)
					}
				}
				fire(test.n, all...)
				if err := a.Stop(); err != nil {
					t.Fatal(err)
				}
				for _, s := range a.Plan() {
					if !s.Attached || len(s.Uncomputed) > 0 {
						t.Errorf("%v is attached to: %v, and says %v", s.Probe, s.Attached, s.Uncomputed)
					}
				}
				groups[i] = groupsOf(t, a)
				slices.Sort(groups[i])
				if d := cmp.Diff(groups[0], groups[i]); d != "" || len(groups[0]) == 0 {
					t.Errorf("%d groups in turn %d (-8 bytes twice +4 and 8 bytes):\n%s", len(groups[0]), i, d)
				}
			}
		}
		for end, key := range map[string][]string{"floatsgo:done": nil, "floatsgo:end": {"n"}} {
			late := startChild(t, "floats 8")
			opts := of(narrow, late)
			opts.Rescan = time.Hour
			l, err := latencyBy(t, t.Context(), "floatsgo:value", end, &attach.LatencyOptions{Key: key, By: []string{"n"}}, opts)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			late.Do("load")
			if err := l.Rescan(); err != nil {
				t.Fatal(err)
			}
			fire(len(floats), narrow, late)
			if err := l.Stop(); err != nil {
				t.Fatal(err)
			}
			groups, err := l.Read()
			if err != nil {
				t.Fatal(err)
			}
			want, got := map[string]uint64{}, map[string]uint64{}
			for _, v := range floats {
				want[fmt.Sprint(float64(v)+0)] += 2 // no negative zero
			}
			for _, g := range groups {
				got[fmt.Sprint(g.By[0].Value)] = g.Count
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("pairs until %s (-want +got):\n%s", end, d)
			}
		}
	})
}
