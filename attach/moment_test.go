package attach_test

import (
	"maps"
	"os/exec"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestOneMoment checks that sites which are attached to while they fire count from one moment on,
// and until one moment: functions that are called by turns are counted equally often.
func TestOneMoment(t *testing.T) {
	path := build(t, "alternate.c", "gcc", "-O1")
	p := tracee.Start(t, exec.Command(path)).Ready()
	selectors := []string{"uprobe:" + path + ":first", "uprobe:" + path + ":second"}
	for name, link := range map[string]attach.LinkKind{"multi": attach.AutoLink, "perf": attach.PerfLink} {
		opts := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Link: link}
		t.Run(name+"/count", func(t *testing.T) { countTurns(t, selectors, opts) })
		t.Run(name+"/events", func(t *testing.T) { recordTurns(t, selectors, opts) })
	}
}

// atLeast is how many calls are counted before tracing ends.
const atLeast = 500

func countTurns(t *testing.T, selectors []string, opts *attach.Options) {
	a := openAggregate(t, selectors, attach.Count().By("probe"), opts)
	calls := map[string]uint64{}
	read := func() (all uint64) {
		groups, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		for i := range groups {
			calls[groups[i].By[0].Value.(string)] += groups[i].Count
		}
		for n := range maps.Values(calls) {
			all += n
		}
		return all
	}
	for read() < atLeast {
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	read()
	byTurns(t, calls)
}

func recordTurns(t *testing.T, selectors []string, opts *attach.Options) {
	s, err := attach.OpenEvents(t.Context(), selectors, &attach.EventOptions{RingSize: 64 << 20}, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer s.Close()
	for st := (attach.Stats{}); st.Fired < atLeast; {
		if st, err = s.Stats(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	calls := map[string]uint64{}
	for _, ev := range drain(t, s) {
		calls[ev.Name]++
	}
	if st := checkSum(t, s); st.Lost > 0 {
		t.Logf("%d events were lost, since this process had no processor for a long time", st.Lost)
		return
	}
	byTurns(t, calls)
}

// byTurns checks that two functions were called equally often, save for the last call.
func byTurns(t *testing.T, calls map[string]uint64) {
	t.Helper()
	var counts []uint64
	for n := range maps.Values(calls) {
		counts = append(counts, n)
	}
	if len(counts) != 2 || max(counts[0], counts[1])-min(counts[0], counts[1]) > 1 {
		t.Errorf("calls by turns were counted as %v", calls)
	}
}
