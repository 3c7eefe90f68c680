package rendezvous

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

const (
	// answerTime is how long a process that sleeps or is stopped may take to answer.
	answerTime = 2 * time.Second
	// busyTime is how long one may take that waits for a processor: on a busy machine the
	// question has woken a thread that does not run yet.
	busyTime = 10 * time.Second
)

// patience says how long to wait for the answer of a process.
type patience struct {
	pid   int
	began time.Time
	last  bool
}

func newPatience(pid int) *patience { return &patience{pid: pid, began: time.Now()} }

// more returns how long to wait before the next call, and 0 when it has been long enough.
// An answer that has come by the end of that time counts, even when this process also got to run
// late.
func (p *patience) more() time.Duration {
	waited := time.Since(p.began)
	switch {
	case p.last:
		return 0
	case waited < answerTime:
		return answerTime - waited
	case waited < busyTime && busy(p.pid):
		return answerTime / 4
	default:
		p.last = true
		return answerTime / 20
	}
}

func (p *patience) waited() time.Duration { return time.Since(p.began).Round(time.Second) }

// busy reports whether a thread of a process runs, or would like to.
func busy(pid int) bool {
	// Package path/filepath would add its init to each service that declares probes.
	tasks := fmt.Sprintf("/proc/%d/task/", pid)
	threads, _ := os.ReadDir(tasks)
	for _, thread := range threads {
		stat, err := os.ReadFile(tasks + thread.Name() + "/stat")
		if err != nil {
			continue // the thread has ended
		}
		// The state follows the name, which may hold any byte.
		if i := bytes.LastIndexByte(stat, ')'); i >= 0 && len(stat) > i+2 && bytes.IndexByte([]byte("RD"), stat[i+2]) >= 0 {
			return true
		}
	}
	return false
}
