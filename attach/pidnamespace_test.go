package attach_test

import (
	"fmt"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestPIDNamespace holds that in a PID namespace options, conditions, events and
// groups mean the same PIDs.
func TestPIDNamespace(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	p := startChild(t, "versions")
	p.do("load old")
	o := attach.Options{Target: attach.Target{PIDs: []int{p.pid()}}, Where: fmt.Sprintf("pid == %d && tid < 1000", p.pid())}
	s := open(t, "versions:*", &o)
	a := openAggregate(t, []string{"versions:*"}, attach.Max("pid").By("pid"), &o)
	p.do("fire")
	events := drain(t, s)
	if len(events) != 2 || events[0].PID != p.pid() || events[0].TID < p.pid() || events[0].TID > p.pid()+100 {
		t.Errorf("events %+v, want two of process %d", events, p.pid())
	}
	groups, err := a.Read()
	pid := uint64(p.pid())
	if err != nil || len(groups) != 1 || groups[0].By[0].Value != pid || groups[0].Max != pid || groups[0].Count != 2 {
		t.Errorf("groups %+v (error %v), want one of process %d", groups, err, pid)
	}
}
