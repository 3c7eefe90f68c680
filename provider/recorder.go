package provider

// FlightRecorder makes a process keep its last events in a file that survives it: a flight
// recorder. `sdttrace --from` reads the file, of a live process and of one that was
// killed. All providers of a process share the file, and the first one that loads
// decides about it.
type FlightRecorder struct {
	// Dir is the directory of the files, each of which is called COMM-PID-TIME.usdt.
	// The directory must belong to this user or to root, and others must not be able
	// to write to it; Load makes it if it is missing, for this user only. For ended processes of
	// one name, the last 8 files are kept. The file has all its memory from the start, so that a
	// full disk does not matter later. File systems that write to other places each time (btrfs,
	// ZFS) cannot promise that: Load refuses them.
	Dir string
	// Size is about the number of bytes of the file; 0 means 4 MiB. Some 50 bytes hold
	// an event of two numbers.
	Size int
	// Probes names the probes that are recorded, as PROVIDER:NAME with '*' for any
	// characters; none means all. For each string, 256 bytes are kept.
	Probes []string
}

// recordedString is the number of bytes that are kept of each string.
const recordedString = 256

// records reports whether a probe is to be recorded.
func (r *FlightRecorder) records(name string) bool {
	for _, pattern := range r.Probes {
		if matches(pattern, name) {
			return true
		}
	}
	return len(r.Probes) == 0
}

// matches reports whether name has the form of pattern, in which '*' stands for any
// characters.
func matches(pattern, name string) bool {
	star, back := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			back++
			p, n = star+1, back
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
