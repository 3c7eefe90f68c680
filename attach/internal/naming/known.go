package naming

import (
	"sync"
	"sync/atomic"
)

// maxProcesses is the number of processes whose code is known.
const maxProcesses = 4096

// knownProcess is a process whose code is known, or looked at. Its lock is held while files of
// the process are read: they may be large, or on a file system that does not answer, and others
// name the code of other processes meanwhile.
type knownProcess struct {
	mu   sync.Mutex
	code atomic.Pointer[Process] // nil if nothing is known; stored with mu locked
}

// known returns what is known of a process.
func (c *Code) known(pid int) *knownProcess {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[pid]
	if p == nil {
		if len(c.processes) >= maxProcesses {
			for old := range c.processes { // any of them
				delete(c.processes, old)
				break
			}
		}
		p = &knownProcess{}
		c.processes[pid] = p
	}
	return p
}
