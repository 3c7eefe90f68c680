package attach_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// heldBy returns, for each condition, the numbers that of gives to the views of a
// stopped session for which it holds.
func heldBy(t *testing.T, s *attach.Session, of func(*event.Event) int, conditions ...string) [][]int {
	t.Helper()
	var holds []func(*event.View) bool
	for _, where := range conditions {
		f, err := attach.Holding(s, where)
		if err != nil {
			t.Fatal(err)
		}
		holds = append(holds, f)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	held := make([][]int, len(holds))
	for v, err := range s.Views() {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := v.Event()
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range holds {
			if f(v) {
				held[i] = append(held[i], of(&ev))
			}
		}
	}
	return held
}

// TestHolds evaluates the conditions of TestWhere in Go, and wants the results
// that programs in the kernel give for the same events.
func TestHolds(t *testing.T) {
	p := startChild(t, "where")
	p.Do("load")
	for _, probe := range []string{"num", "text", "rec"} {
		tests := slices.DeleteFunc(whereTests(p.PID()), func(test whereTest) bool { return test.probe != probe })
		var conditions []string
		for _, test := range tests {
			conditions = append(conditions, test.where)
		}
		s := open(t, "where:"+probe, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		p.Do("%s", probe)
		for i, got := range heldBy(t, s, whereNumber, conditions...) {
			if !slices.Equal(got, tests[i].want) {
				t.Errorf("%s holds of events %d of %s, in the kernel of %d", conditions[i], got, probe, tests[i].want)
			}
		}
	}
}

// TestHoldsMeanings does so for durations, times and addresses.
func TestHoldsMeanings(t *testing.T) {
	fire := dialProvider(t, "meanholds")
	s := open(t, "meanholds:dial", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	fire()
	var conditions []string
	for _, test := range meaningTests {
		conditions = append(conditions, test.where)
	}
	number := func(ev *event.Event) int { return int(ev.Args[3].Value.(int64)) }
	for i, held := range heldBy(t, s, number, conditions...) {
		var got []int64
		for _, n := range held {
			got = append(got, int64(n))
		}
		if want := meaningTests[i].want; !slices.Equal(got, want) {
			t.Errorf("%s holds of events %d, in the kernel of %d", conditions[i], got, want)
		}
	}
}

// TestHoldsC does so for arguments without types. The session has a condition
// that always holds, since a condition decides what is text.
func TestHoldsC(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	for _, test := range whereTestsC(p.PID()) {
		s := open(t, path+":args:"+test.probe, &attach.Options{Where: "(" + test.where + ") || !(" + test.where + ")"})
		p.Do("")
		held := heldBy(t, s, func(*event.Event) int { return 0 }, test.where)
		if got := len(held[0]); got != test.want {
			t.Errorf("%s holds of %d events of %s, in the kernel of %d", test.where, got, test.probe, test.want)
		}
		if st := checkSum(t, s); st.Fired != 1 || st.Filtered != 0 {
			t.Errorf("%s: stats %+v, want one event", test.where, st)
		}
		s.Close()
	}
}
