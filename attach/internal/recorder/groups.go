package recorder

import (
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/tracefile"
)

// groups are the control groups of records in a file.
type groups struct {
	of   func(id uint64) (g container.Group, known bool) // nil for none
	last uint64
	said map[uint64]container.Group // what the file has; empty where it lacks a group
}

// see notes the control group of a record.
func (g *groups) see(o *Output, rec record.Record) {
	if g.of == nil {
		return
	}
	s, _ := o.site(rec.Site())
	if s == nil || s.Group == 0 || len(rec) < s.Layout.FixedSize() {
		return
	}
	id := rec.Slot(s.Group - 1)
	if id == g.last && g.said != nil {
		return
	}
	g.last = id
	if g.said == nil {
		g.said = map[uint64]container.Group{}
	}
	if _, seen := g.said[id]; !seen {
		g.said[id] = container.Group{}
	}
}

// write writes what is known of groups and not in the file.
func (g *groups) write(file *tracefile.Writer) (err error) {
	for id, said := range g.said {
		now, known := g.of(id)
		if !known || now == said || err != nil {
			continue
		}
		err = file.Group(&tracefile.Group{ID: id, Path: now.Path, Container: now.Container, Pod: now.Pod})
		g.said[id] = now
	}
	return err
}
