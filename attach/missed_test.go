package attach_test

import (
	"sync"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// compareMissed has more tasks than processors carry out a command of a role that makes 2000 calls, reads
// the events at one place of each call and counts them at another, and compares what became of each. It returns how
// many were missed.
func compareMissed(t *testing.T, role, command, read, counted, where string) (missed uint64) {
	t.Helper()
	const tasks, calls = 6, 2000
	children, pids := make([]*tracee.Program, tasks), make([]int, tasks)
	for i := range children {
		children[i] = startChild(t, role)
		pids[i] = children[i].PID()
	}
	o := &attach.Options{Target: attach.Target{PIDs: pids}, Where: where}
	s, err := attach.OpenEvents(t.Context(), []string{read}, &attach.EventOptions{RingSize: 1 << 16}, o)
	needPrivileges(t, err)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	count, err := attach.OpenAggregate(t.Context(), []string{counted}, attach.Count().By("pid"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer count.Close()
	var all sync.WaitGroup
	for _, c := range children {
		all.Go(func() { c.Do("%s", command) })
	}
	all.Wait()
	groups, err := count.Read()
	if err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for i := range groups {
		sum += groups[i].Count
	}
	if err := count.Close(); err != nil {
		t.Fatal(err)
	}
	sums, err := count.Stats()
	if err != nil {
		t.Fatal(err)
	}
	got := uint64(len(drain(t, s)))
	st := checkSum(t, s)
	t.Logf("%d events of %+v; sums %+v", got, st, sums)
	if got+st.Lost+st.Filtered+st.Missed != tasks*calls || st.Received != got {
		t.Errorf("%d events, %+v, want %d in all", got, st, tasks*calls)
	}
	if sum+sums.Lost+sums.Filtered+sums.Missed != tasks*calls {
		t.Errorf("%d counted, %+v, want %d in all", sum, sums, tasks*calls)
	}
	return st.Missed + sums.Missed
}
