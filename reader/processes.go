package reader

import (
	"errors"
	"io/fs"
	"iter"

	"github.com/go-usdt/usdt/internal/procfs"
)

// Processes returns every process of the machine, by id, each valid until the
// iteration goes on. A file that several processes have mapped is read once.
// Processes that end meanwhile and kernel threads are skipped; an error stands for
// a process that could not be read, most often because it belongs to another user
// (os.ErrPermission).
func Processes() iter.Seq2[*Process, error] {
	return func(yield func(*Process, error) bool) {
		pids, err := procfs.PIDs()
		if err != nil {
			yield(nil, err)
			return
		}
		files := newFiles()
		defer files.close()
		for _, pid := range pids {
			p, err := openProcess(pid, files)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !yield(p, err) {
				return
			}
		}
	}
}
