package discover

import (
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/library"
	"github.com/go-usdt/usdt/attach/internal/maplog"
	"github.com/go-usdt/usdt/internal/selector"
)

// starting returns the files of the programs Exe and Comm, if there are any, and of the
// libraries that they are linked with, by the paths that processes would show.
func (d *Search) starting() (paths []string) {
	var programs []string
	if d.Exe != "" {
		programs = append(programs, d.Exe)
	} else if d.Comm != "" && !strings.Contains(d.Comm, "/") {
		programs = library.Installed(d.Comm)
	}
	for _, program := range programs {
		paths = append(paths, library.Linked(program)...)
	}
	return paths
}

// others reports whether what a process has mapped is not searched, since Exe or Comm do not
// select it. One that has ended is known by the files that it mapped. One that has another name
// may be about to take that of Comm, for which not all that runs is attached to.
func (d *Search) others(m *maplog.Mapper) bool {
	if d.Selects == nil || d.Selects(m.PID) {
		return false
	}
	if d.Exe == "" {
		return !slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return s.String() != "*:*" })
	}
	exe, err := statOf(d.Exe)
	return err != nil || !slices.ContainsFunc(m.Paths, func(path string) bool {
		st, err := statOf(path)
		return err == nil && st.Dev == exe.Dev && st.Ino == exe.Ino
	})
}
