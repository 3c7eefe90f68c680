package discover

import (
	"context"
	"os"
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

// MoreIn returns the sites in files that have not been returned before: those of paths that
// processes have just mapped, which may have ended.
func (d *Search) MoreIn(ctx context.Context, paths []string) (Sites, error) {
	d.ctx, d.found, d.troubles, d.infos, d.Ended = ctx, nil, nil, map[string]os.FileInfo{}, nil
	defer d.inodes.Close()
	for _, path := range paths {
		if d.mayMatch(path) {
			d.unmapped(path)
		}
	}
	return d.found, context.Cause(ctx)
}
