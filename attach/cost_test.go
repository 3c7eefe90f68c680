package attach_test

import (
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
)

// TestCost checks that the runs of programs are counted while the kernel measures, and known
// after Close.
func TestCost(t *testing.T) {
	p := startChild(t, "aggregate")
	p.Do("load")
	a := openAggregate(t, []string{"agg:done"}, attach.Count(), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	measuring, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		t.Fatal(err)
	}
	p.Do("fire 2")
	measuring.Close()
	cost, err := a.Cost()
	if err != nil || cost.Runs == 0 {
		t.Fatalf("cost %+v, %v, want runs", cost, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := a.Cost(); err != nil || after != cost {
		t.Errorf("after Close: cost %+v, %v, want %+v", after, err, cost)
	}
}
