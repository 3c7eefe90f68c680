package discover

// hiddenScans says in which scans a process was met that may not be looked at.
type hiddenScans struct{ first, last int }

// hide notes that process pid may not be looked at.
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

// sinceHidden returns the scan in which the last of the processes was first met that
// may not be looked at. Those that were not met in this scan are forgotten.
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
