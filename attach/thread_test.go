package attach_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestThreadID checks that the id of a thread is not taken for its process's.
func TestThreadID(t *testing.T) {
	p := startChild(t, "typed")
	p.Do("load")
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	tid := 0
	for _, task := range tasks {
		if n, err := strconv.Atoi(task.Name()); err == nil && n != p.PID() {
			tid = n
		}
	}
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		s, err := attach.Open(t.Context(), []string{"typed:*"}, &attach.Options{Target: attach.Target{PIDs: []int{tid}}, Link: kind})
		if err == nil {
			s.Close()
		}
		if want := fmt.Sprintf("%d is a thread of process %d:", tid, p.PID()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("by %v: error %v, want one with %q", kind, err, want)
		}
	}
}
