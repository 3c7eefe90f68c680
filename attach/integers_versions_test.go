package attach_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() {
	roles["integers signed"] = tracee.Obey(integersChild[int32](-1, 100))
	roles["integers unsigned"] = tracee.Obey(integersChild[uint64](100, 1<<63))
}

// integersChild fires numbers of a type.
func integersChild[T int32 | uint64](numbers ...T) func(string) error {
	var probe *provider.Probe1[T]
	return func(command string) error {
		if command == "load" {
			p := provider.New("integersgo", nil)
			probe = provider.NewProbe1[T](p, "number", "n")
			return p.Load()
		}
		for _, n := range numbers {
			probe.Fire(n)
		}
		return nil
	}
}

// TestIntegersOfVersions has the argument of a typed probe be of another type in another
// process, which may declare it later. A number that does not fit a sum is lost, and said.
func TestIntegersOfVersions(t *testing.T) {
	everyWay(t, func(t *testing.T) {
		for late, sums := range map[bool]string{
			false: `{"by":{},"count":3,"sum":199,"min":-1,"max":100}`,
			true:  `{"by":{},"count":3,"sum":9223372036854776008,"min":100,"max":9223372036854775808}`,
		} {
			signed, unsigned := startChild(t, "integers signed"), startChild(t, "integers unsigned")
			opts := attach.Options{Target: attach.Target{PIDs: []int{signed.PID(), unsigned.PID()}}, Rescan: time.Hour}
			unsigned.Do("load")
			if !late {
				signed.Do("load")
			}
			by := openAggregate(t, []string{"integersgo:number"}, attach.Count().By("n"), &opts)
			values := openAggregate(t, []string{"integersgo:number"}, attach.Sum("n").And(attach.Min("n"), attach.Max("n")), &opts)
			if late {
				signed.Do("load")
				if err := errors.Join(by.Rescan(), values.Rescan()); err != nil {
					t.Fatal(err)
				}
			}
			signed.Do("fire")
			unsigned.Do("fire")
			if err := errors.Join(by.Stop(), values.Stop()); err != nil {
				t.Fatal(err)
			}
			counts := []string{`{"by":{"n":-1},"count":1}`, `{"by":{"n":9223372036854775808},"count":1}`, `{"by":{"n":100},"count":2}`}
			slices.Sort(counts)
			if d := cmp.Diff(counts, slices.Sorted(slices.Values(groupsOf(t, by)))); d != "" {
				t.Errorf("late %v: groups (-want +got):\n%s", late, d)
			}
			if d := cmp.Diff([]string{sums}, groupsOf(t, values)); d != "" {
				t.Errorf("late %v: sums (-want +got):\n%s", late, d)
			}
			if st := checkSum(t, values); st.Lost != 1 {
				t.Errorf("late %v: %+v, want one lost", late, st)
			}
			if f := values.Faults(); len(f) != 1 || !f[0].Lost || f[0].Argument != "n" || f[0].Events != 1 || !strings.Contains(f[0].Err.Error(), "2^63") {
				t.Errorf("late %v: faults %+v, want one of n, which does not fit", late, f)
			}
		}
	})
}
