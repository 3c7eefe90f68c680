package discover

import (
	"errors"
	"strings"

	"github.com/go-usdt/usdt/reader"
)

// awaitFiles keeps the sites of files that selectors name by path, for processes that
// may map them later: the kernel attaches when they do.
func (d *Search) awaitFiles(pids []int) {
	for i := range d.selectors {
		path, ok := d.selectors[i].LiteralPath()
		if !ok || !strings.Contains(path, "/") || d.awaited[path] {
			continue
		}
		f, err := reader.Open(path)
		if err != nil {
			continue // it may be created later
		}
		if d.awaited == nil {
			d.awaited = map[string]bool{}
		}
		d.awaited[path] = true
		d.awaitFile(f, path, pids)
		f.Close()
	}
}

func (d *Search) awaitFile(f *reader.File, path string, pids []int) {
	if d.wantsProbes() {
		for p, err := range f.Probes() {
			if err != nil || p.SiteErr != nil || p.SemaphoreErr != nil && !errors.Is(p.SemaphoreErr, reader.ErrMiscounted) {
				continue // a process that has it mapped may show more
			}
			p.Path = path
			for _, pid := range pids {
				d.add(&p, pid)
			}
		}
	}
	if !d.mayHaveFunctions(path) {
		return
	}
	d.eachFunction(f.Functions(), func(error) {}, func(fn *reader.Function) {
		fn.Path = path
		for _, pid := range pids {
			if fn.SiteErr == nil {
				d.addFunction(fn, pid)
			}
		}
	})
}
