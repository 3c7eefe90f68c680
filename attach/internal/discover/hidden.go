package discover

// hiddenScans says in which scans a process that may not be inspected was met.
type hiddenScans struct{ first, last int }

// hide notes that process pid may not be inspected.
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
