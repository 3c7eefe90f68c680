package source

import (
	"encoding/binary"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/cgroups"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/record"
)

// savedGroups has the control groups of records that are read from files. Each file has ids of its own:
// records get numbers in place of them.
type savedGroups struct {
	table   *cgroups.Table
	numbers map[savedGroup]uint64
}

// savedGroup is a control group in a file.
type savedGroup struct {
	file *recording
	id   uint64
}

func newSavedGroups() *savedGroups {
	return &savedGroups{cgroups.NewTable(), map[savedGroup]uint64{}}
}

// replace puts the number of a control group in place of its id, into a slot of a record.
func (s *savedGroups) replace(f *recording, rec []byte, slot int) {
	at := record.Slot(slot)
	if len(rec) < at+8 {
		return
	}
	in := savedGroup{f, binary.NativeEndian.Uint64(rec[at:])}
	n, known := s.numbers[in]
	if !known {
		n = uint64(len(s.numbers)) + 1
		s.numbers[in] = n
		g := container.Group{Path: fmt.Sprintf("[id %d]", in.id)}
		if of, ok := f.group(in.id); ok {
			g = of
		}
		s.table.Put(n, g)
	}
	binary.NativeEndian.PutUint64(rec[at:], n)
}

// Groups has the control groups of the records that were read.
func (r *Recordings) Groups() *cgroups.Table { return r.groups.table }
