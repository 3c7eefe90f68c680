package tracefile

import "encoding/json"

// Group says what was known of a control group when the file was written.
type Group struct {
	ID        uint64 `json:"id"` // in the records of sites that have a slot for it
	Path      string `json:"path"`
	Container string `json:"container,omitempty"` // see package container
	Pod       string `json:"pod,omitempty"`
}

// SetCgroup sets the slot that has the id of a control group; none if it is negative.
func (d *Site) SetCgroup(slot int) {
	if slot >= 0 {
		d.Cgroup = &slot
	}
}

// Limits on the groups of a file.
const (
	maxGroups    = 1 << 17
	maxGroupText = 4 << 10 // bytes of each text
)

// Group describes a control group. A later description of the group takes the place of an earlier one.
func (f *Writer) Group(g *Group) error {
	f.put(tagGroup, g)
	return f.err
}

// group adds a group; one that is damaged, or one too many, costs its name.
func (f *File) group(payload []byte) (ok bool) {
	var g Group
	if json.Unmarshal(payload, &g) != nil || max(len(g.Path), len(g.Container), len(g.Pod)) > maxGroupText {
		return false
	}
	if f.Groups == nil {
		f.Groups = map[uint64]Group{}
	}
	if _, known := f.Groups[g.ID]; !known && len(f.Groups) >= maxGroups {
		return false
	}
	f.Groups[g.ID] = g
	return true
}
