package discover

import (
	"strings"

	"github.com/go-usdt/usdt/attach/internal/library"
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
