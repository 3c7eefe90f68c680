package attach_test

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/total"
)

// latencyOf opens the latency of a function, of whose starts only few may wait in a table.
func latencyOf(t *testing.T, start, end string, what *attach.LatencyOptions, opts *attach.Options) *attach.Latency {
	t.Helper()
	l, err := attach.OpenLatency(t.Context(), start, end, what, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// checkCalls compares what became of calls, checks that the counts add up, and returns the groups since
// the last time.
func checkCalls(t *testing.T, what string, l *attach.Latency, want attach.PairStats) []total.Group {
	t.Helper()
	groups, err := l.Read()
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := l.Pairs()
	if err != nil {
		t.Fatal(err)
	}
	if !attach.ByCall(l) { // the table also has returns from calls that began before
		pairs.Unstarted = 0
	}
	if pairs != want {
		t.Errorf("%s: %+v, want %+v", what, pairs, want)
	}
	checkSum(t, l)
	return groups
}

// TestCalls measures calls of a function that calls itself, more than a table would keep, and of one in
// which threads are when it is attached to, wait, and end.
func TestCalls(t *testing.T) {
	path := build(t, "calls.c", "gcc", "-O1", "-pthread")
	p := start(t, exec.Command(path))
	p.Do("wait 3") // before anybody looks
	own := func(where string) *attach.Options { return functionsOf(p.PID(), where) }
	few := &attach.LatencyOptions{MaxPending: 8}
	deep := latencyOf(t, "uprobe:"+path+":deep", "uretprobe:"+path+":deep", few, own(""))
	byCall := attach.ByCall(deep)
	if can := attach.RunsAtReturns(t, false); byCall != can {
		t.Errorf("matched by call: %t, want %t", byCall, can)
	}
	if !byCall {
		few = nil
		deep = latencyOf(t, "uprobe:"+path+":deep", "uretprobe:"+path+":deep", few, own(""))
	}
	const depth = 60 // the kernel sees the returns from 64 calls within each other
	p.Do("deep %d", depth)
	groups := checkCalls(t, "calls within calls", deep, attach.PairStats{Pairs: depth + 1})
	if len(groups) != 1 || groups[0].Count != depth+1 {
		t.Errorf("groups %+v, want %d calls", groups, depth+1)
	}
	odd := latencyOf(t, "uprobe:"+path+":deep", "uretprobe:"+path+":deep", few, own("arg0 >= 10 && retval < 20"))
	byResult := latencyOf(t, "uprobe:"+path+":deep", "uretprobe:"+path+":deep", &attach.LatencyOptions{By: []string{"retval", "probe"}}, own("retval < 3"))
	byArgument := latencyOf(t, "uprobe:"+path+":deep", "uretprobe:"+path+":deep", &attach.LatencyOptions{By: []string{"arg0"}}, own("arg0 < 2"))
	p.Do("deep 49")
	checkCalls(t, "two conditions", odd, attach.PairStats{Pairs: 10, Dropped: 40})
	groups = checkCalls(t, "by the result", byResult, attach.PairStats{Pairs: 3, Dropped: 47})
	checkCalls(t, "by an argument", byArgument, attach.PairStats{Pairs: 2, Dropped: 48})
	if attach.ByCall(byArgument) || attach.ByCall(byResult) != byCall {
		t.Errorf("by call: %t by an argument, which starts keep, %t by the result, and %t without a key", attach.ByCall(byArgument), attach.ByCall(byResult), byCall)
	}
	if len(groups) != 3 || groups[0].By[1].Value != "uretprobe:functions:deep" {
		t.Errorf("groups %+v", groups)
	}
	for i := range odd.Plan() {
		if s := odd.Plan()[i]; !s.Attached {
			t.Errorf("%s is not attached to: %v", s.Probe.Name, s.Reason)
		}
	}

	waits := latencyOf(t, "uprobe:"+path+":waits", "uretprobe:"+path+":waits", nil, own(""))
	p.Do("leave 1") // nobody has seen it begin
	p.Do("wait 20")
	checkCalls(t, "in the middle", waits, attach.PairStats{Pending: 20})
	p.Do("leave 22") // two that nobody has seen
	checkCalls(t, "all returned", waits, attach.PairStats{Pairs: 20})
	p.Do("wait 5")
	p.Do("end 5")
	checkCalls(t, "threads have ended", waits, attach.PairStats{Pairs: 20, Pending: 5})
	p.Do("wait 2")
	p.Do("leave 2")
	checkCalls(t, "later threads", waits, attach.PairStats{Pairs: 22, Pending: 5})
}

// TestKernelCalls measures calls of functions of the kernel that call each other, and of one in which
// a process is when it is attached to.
func TestKernelCalls(t *testing.T) {
	needs.Kprobes(t)
	// Each line that the process gets is the end of a read, if Go's runtime reads no cgroup and no signal
	// of it interrupts a read.
	quiet := tracee.Self("fallocating")
	quiet.Env = append(quiet.Env, "GODEBUG=asyncpreemptoff=1,updatemaxprocs=0")
	p, other := start(t, quiet), startChild(t, "fallocating")
	p.Do("0 0")
	p.Reads()
	reads := latencyOf(t, "kprobe:vfs_read", "kretprobe:vfs_read", nil, functionsOf(p.PID(), ""))
	nested := latencyOf(t, "kprobe:*fallocate", "kretprobe:*fallocate", &attach.LatencyOptions{By: []string{"func"}}, functionsOf(p.PID(), ""))
	large := latencyOf(t, "kprobe:vfs_fallocate", "kretprobe:vfs_fallocate", nil, functionsOf(p.PID(), "offset >= 40960"))
	if by, can := attach.ByCall(large), attach.RunsAtReturns(t, true); by != can || attach.ByCall(nested) != can {
		t.Errorf("matched by call: %t and %t, want %t", by, attach.ByCall(nested), can)
	}
	const calls = 50
	p.Do(fmt.Sprint(calls, " 4096"))
	other.Do("7 4096")
	groups, err := nested.Read()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[any]uint64{}
	for _, g := range groups {
		counts[g.By[0].Value] = g.Count
	}
	if counts["vfs_fallocate"] != calls || len(counts) < 2 {
		t.Errorf("calls within calls: %v, want %d of vfs_fallocate and of the system call", counts, calls)
	}
	for name, n := range counts {
		if n != calls && n != 0 {
			t.Errorf("%v: %d calls, want %d", name, n, calls)
		}
	}
	checkCalls(t, "a condition", large, attach.PairStats{Pairs: calls - 10, Dropped: 10})
	for range 4 {
		p.Do("0 0")
	}
	if _, err := reads.Read(); err != nil {
		t.Fatal(err)
	}
	pairs, err := reads.Pairs()
	if err != nil || pairs.Pairs != 4 || pairs.Evicted+pairs.TooDeep+pairs.Torn+pairs.Dropped != 0 {
		t.Errorf("reads: %+v, error %v; want 4 pairs, not the one that had begun", pairs, err)
	}
	if attach.ByCall(large) && pairs.Unstarted != 0 {
		t.Errorf("reads: %+v, of which nobody should see the return without its entry", pairs)
	}
	p.Reads() // nothing may begin between what Stats reads first and what it reads last
	checkSum(t, reads)
}
