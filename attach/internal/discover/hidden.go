package discover

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// hiddenScans says in which scans a process that may not, or cannot, be inspected was met.
type hiddenScans struct{ first, last int }

// hide notes that process pid may not, or cannot, be inspected.
func (d *Search) hide(pid int) {
	if d.hidden == nil {
		d.hidden = map[int]hiddenScans{}
	}
	scans := d.hidden[pid]
	if scans.first == 0 {
		scans.first = d.scan
	}
	scans.last = d.scan
	d.hidden[pid] = scans
}

// sinceHidden returns the scan that first met the newest process that may not be
// inspected. It forgets processes that were not met in this scan.
func (d *Search) sinceHidden() (newest int) {
	for pid, scans := range d.hidden {
		if scans.last != d.scan {
			delete(d.hidden, pid)
			continue
		}
		newest = max(newest, scans.first)
	}
	return newest
}

// headless reports whether a process that shows no memory has threads other than its
// first, which has ended: threads of the kernel have none. The directory of threads has a
// link for each (fs/proc/base.c, proc_task_getattr), and two of its own.
func headless(pid int) bool {
	var st unix.Stat_t
	return unix.Stat(fmt.Sprintf("/proc/%d/task", pid), &st) == nil && st.Nlink > 3
}
