package attach_test

import (
	"os/exec"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestTracepointChildren receives the event of the kernel with which each child of a shell ends, and the
// shell itself: the processes are the session's until then.
func TestTracepointChildren(t *testing.T) {
	needs.Tracepoints(t)
	const children = 20
	cmd := exec.Command("sh", "-c", "read line; i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := attach.Open(t.Context(), []string{"tracepoint:sched:sched_process_exec", "tracepoint:sched:sched_process_exit"},
		&attach.Options{Target: attach.Target{PIDs: []int{cmd.Process.Pid}, Children: true}})
	needPrivileges(t, err)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	ended := map[int]bool{}
	events := map[string]int{}
	for ev, err := range s.Events() { // until the session has seen the last process end
		if err != nil {
			t.Fatal(err)
		}
		events[ev.Name]++
		if ev.Name == "sched_process_exit" {
			ended[ev.PID] = true
		}
	}
	if events["sched_process_exec"] != children || len(ended) != children+1 || events["sched_process_exit"] != children+1 || !ended[cmd.Process.Pid] {
		t.Errorf("%v of %d processes, want %d that are executed and %d that end", events, len(ended), children, children+1)
	}
}
