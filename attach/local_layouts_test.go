package attach_test

import (
	"os"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// TestAggregateLayouts adds up events of one probe that its process declares again with
// its arguments in another order: each event is read as it was when it fired.
func TestAggregateLayouts(t *testing.T) { everyWay(t, checkAggregateLayouts) }

func checkAggregateLayouts(t *testing.T) {
	p := provider.New("layouts", nil)
	t.Cleanup(func() { p.Close() })
	first := provider.NewProbe2[int, int](p, "p", "pad", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	a := openAggregate(t, []string{"layouts:p"}, attach.Sum("n").By("probe"), &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Rescan: time.Hour})
	first.Fire(1000, 1)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	second := provider.NewProbe2[int, int](p, "p", "n", "pad")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	if err := a.RescanHeld(); err != nil {
		t.Fatal(err)
	}
	for _, s := range a.Plan() {
		t.Logf("%v local %v attached %v: %v", s.Probe.BuildID, s.Local, s.Attached, s.Reason)
	}
	second.Fire(1, 1000)
	groups, err := a.Read()
	if err != nil || len(groups) != 1 || groups[0].Count != 2 || groups[0].Sum != int64(2) || groups[0].By[0].Value != "layouts:p" {
		t.Errorf("groups %+v, %v, want one of 2 events that add up to 2", groups, err)
	}
	checkSum(t, a)
}
