package list

import (
	"fmt"
	"io"
)

// RemarkShared says which probes have one site, once for each pair.
func (l *List) RemarkShared(stderr io.Writer) {
	type place struct {
		pid     int
		address uint64
	}
	first, said := map[place]*Probe{}, map[string]bool{}
	for i := range l.Probes {
		p := &l.Probes[i]
		if p.State == stateDeclared {
			continue // and nowhere yet
		}
		at := place{p.PID, p.Address}
		other := first[at]
		if other == nil {
			first[at] = p
			continue
		}
		remark := fmt.Sprintf("%s:%s and %s:%s of %s are at one address: an event there counts for each", other.Provider, other.Name, p.Provider, p.Name, p.Path)
		if other.Provider == p.Provider && other.Name == p.Name {
			remark = fmt.Sprintf("%s:%s of %s has two notes at one address: it is traced once there", p.Provider, p.Name, p.Path)
		}
		if !said[remark] {
			said[remark] = true
			fmt.Fprintf(stderr, "sdttrace: %s\n", remark)
		}
	}
}
