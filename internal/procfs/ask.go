package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// ErrSilent is wrapped by errors about file systems that do not answer: of a server that is
// gone, or of a process (FUSE) that is stopped. A thread that asks such a file system would wait
// for ever, and take no signal meanwhile.
var ErrSilent = errors.New("its file system does not answer")

// A file system may take patience ticks for an answer. A process that is stopped meanwhile, or gets
// no CPU, has one long tick: that is not the file system's silence.
const (
	patience = 20
	tick     = 100 * time.Millisecond
)

// silence has the file systems that owe answers, with their number, and a path on each that
// has owed one.
var silence = struct {
	sync.Mutex
	owed  map[volume]int
	paths map[volume]string
}{owed: map[volume]int{}, paths: map[volume]string{}}

// Silent returns a path on each file system that has not answered in time since the program
// started.
func Silent() []string {
	silence.Lock()
	defer silence.Unlock()
	return slices.Sorted(maps.Values(silence.paths))
}

// ask calls f in a goroutine, and returns its results. If they take too long, the error wraps
// ErrSilent and [os.ErrDeadlineExceeded], and late, if it is not nil, gets the result when it
// comes. Until then others who ask the file system get the error at once, and no further
// thread waits. A device of 0 is that of the file system to which path leads.
func ask[T any](device uint64, path string, f func() (T, error), late func(T)) (T, error) {
	var none T
	if isSilent(device, path) {
		return none, silent(path)
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer)      // an answer is taken, or late
	abandoned := make(chan volume, 1) // what owes the answer, as it was called then
	go func() {
		value, err := f()
		select {
		case answers <- answer{value, err}:
			return
		case v := <-abandoned:
			owe(v, -1)
		}
		if late != nil && err == nil {
			late(value)
		}
	}()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for range patience {
		select {
		case a := <-answers:
			return a.value, a.err
		case <-ticks.C:
		}
	}
	v := volumeOf(device, path)
	owe(v, 1)
	note(v, path)
	abandoned <- v
	return none, silent(path)
}

func isSilent(device uint64, path string) bool {
	silence.Lock()
	defer silence.Unlock()
	return len(silence.owed) > 0 && silence.owed[volumeOf(device, path)] > 0
}

func owe(v volume, n int) {
	silence.Lock()
	defer silence.Unlock()
	if silence.owed[v] += n; silence.owed[v] == 0 {
		delete(silence.owed, v)
	}
}

// maxSilent bounds what is kept of paths that nobody can tell apart.
const maxSilent = 64

func note(v volume, path string) {
	silence.Lock()
	defer silence.Unlock()
	if silence.paths[v] == "" && len(silence.paths) < maxSilent {
		silence.paths[v] = path
	}
}

func silent(path string) error {
	return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w (%w)", ErrSilent, os.ErrDeadlineExceeded)}
}

// EvalSymlinks is [filepath.EvalSymlinks] with a deadline.
func EvalSymlinks(path string) (string, error) {
	return ask(0, path, func() (string, error) { return filepath.EvalSymlinks(path) }, nil)
}

// ReadDir is [os.ReadDir] with a deadline.
func ReadDir(path string) ([]os.DirEntry, error) {
	return ask(0, path, func() ([]os.DirEntry, error) { return os.ReadDir(path) }, nil)
}

// Stat returns what the file system knows of the file to which path leads.
func Stat(path string) (os.FileInfo, error) {
	return ask(0, path, func() (os.FileInfo, error) { return os.Stat(path) }, nil)
}
