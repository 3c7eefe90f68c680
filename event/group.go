package event

import (
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
)

func (d *decoder) KnowGroups(of func(id uint64) (cgroup, container, pod string)) { d.groups = of }

// group returns the words of the control group that a record has the id of; none if it has none.
func (d *decoder) group(r record.Record, s *shape.Shape) (cgroup, container, pod string) {
	if s.Group == 0 || d.groups == nil {
		return "", "", ""
	}
	return d.groups(r.Slot(s.Group - 1))
}

// Group returns the control group of the task that fired, its container and its pod, as in Event.
func (v *View) Group() (cgroup, container, pod string) {
	return v.decoder.group(v.reading.rec, v.shape)
}

func (e *Event) appendGroup(dst []byte) []byte {
	if e.Cgroup == "" {
		return dst
	}
	for _, m := range [...]struct{ key, text string }{{`,"cgroup":`, e.Cgroup}, {`,"container":`, e.Container}, {`,"pod":`, e.Pod}} {
		dst = printable.AppendString(append(dst, m.key...), m.text)
	}
	return dst
}

// groupMembers are the members of JSON that a control group has.
type groupMembers struct{ Cgroup, Container, Pod string }
