package reader

import (
	"errors"
	"io/fs"
	"iter"

	"github.com/go-usdt/usdt/internal/procfs"
)

// Processes returns every process of the machine, by id. The next iteration closes it.
// Processes reads a file that several processes have mapped once. It skips kernel
// threads and processes that end meanwhile. An error stands for a process that could
// not be read, most often because it belongs to another user (os.ErrPermission).
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
			more := yield(p, err)
			if p != nil {
				p.Close()
			}
			if !more {
				return
			}
		}
	}
}
