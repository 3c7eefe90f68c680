package reader

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
)

// Processes returns every process of the machine, by id, each good until the
// iteration goes on. A file that several have mapped is read once. Processes
// that end meanwhile and kernel threads are passed over; an error stands for a
// process that could not be read, most often since it belongs to another user
// (os.ErrPermission).
func Processes() iter.Seq2[*Process, error] {
	return func(yield func(*Process, error) bool) {
		pids, err := processIDs()
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

func processIDs() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	var pids []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, err
}
