package procfs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Maps returns the mappings of process pid by ascending address. A kernel thread, and
// a process that has ended but has not been waited for, has none. The error for a
// process that does not exist wraps os.ErrNotExist.
func Maps(pid int) ([]Mapping, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, Error(pid, err)
	}
	defer f.Close()
	maps, err := readMaps(f)
	if errors.As(err, new(*fs.PathError)) {
		return nil, Error(pid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return maps, nil
}

// maxMaps is the largest number of bytes that are read of a process's maps. A path
// has up to 4 KiB, and on some distributions a process may map it a million times
// (vm.max_map_count).
const maxMaps = 256 << 20

// Error adds to err, an error from under /proc/PID, what it means for the process.
func Error(pid int, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ESRCH):
		if _, statErr := os.Stat("/proc/self"); statErr != nil {
			return fmt.Errorf("read process %d: /proc is not mounted: %w", pid, err)
		}
		return goneError(pid)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("process %d %s: %w", pid, protection(pid), err)
	}
	return fmt.Errorf("read process %d: %w", pid, err)
}

// goneError is the id of a process that does not exist.
type goneError int

func (pid goneError) Error() string { return fmt.Sprintf("process %d does not exist", int(pid)) }

func (pid goneError) Unwrap() error { return os.ErrNotExist }

// Empty is the error for a process that has no memory.
type Empty int

func (pid Empty) Error() string {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", int(pid)))
	if err == nil && len(threads) > 1 {
		how := "the file that they run"
		if path, err := os.Readlink(fmt.Sprintf("/proc/%s/exe", threads[len(threads)-1].Name())); err == nil {
			how += fmt.Sprintf(": --exe %s --where 'pid == %d'", path, int(pid))
		}
		return fmt.Sprintf("process %d shows no memory, since its first thread has ended: its other threads can be traced by %s", int(pid), how)
	}
	if parent := pid.parent(); parent > 0 {
		return fmt.Sprintf("process %d has ended, and its parent, process %d, has not waited for it", int(pid), parent)
	}
	return fmt.Sprintf("process %d has no memory: it is a kernel thread or has ended", int(pid))
}

// parent returns the parent of a process that has ended, 0 of others.
func (pid Empty) parent() (parent int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", int(pid))) // it may be gone
	_, rest, _ := strings.Cut(string(stat), ") Z ")                // man 5 proc_pid_stat: the state, and the parent
	fmt.Sscan(rest, &parent)
	return parent
}

func (pid Empty) Unwrap() error { return os.ErrNotExist }

// ParseMaps parses the contents of a /proc/PID/maps.
func ParseMaps(data []byte) ([]Mapping, error) { return readMaps(bytes.NewReader(data)) }

// readMaps holds one line at a time, and keeps text that lines have in common once.
func readMaps(r io.Reader) ([]Mapping, error) {
	var out []Mapping
	paths := map[string]string{} // a file's mappings share its path
	limited := &io.LimitedReader{R: r, N: maxMaps}
	lines := bufio.NewReaderSize(limited, 64<<10) // a path's newlines are escaped
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case err == io.EOF && limited.N <= 0:
			return nil, fmt.Errorf("its memory map has more than the %d MiB that are read", maxMaps>>20)
		case err == io.EOF && len(line) == 0:
			return out, nil
		case err != nil && err != io.EOF:
			return nil, err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		m, path, ok := parseMapping(line)
		if !ok {
			return nil, fmt.Errorf("maps line %d: %q is not a mapping", n, line)
		}
		p, known := paths[string(path)]
		if !known {
			// fs/seq_file.c: seq_path escapes only the newline.
			p = strings.ReplaceAll(string(path), `\012`, "\n")
			paths[string(path)] = p
		}
		m.Path = p
		out = append(out, m)
	}
}

// parseMapping parses "START-END PERM OFFSET MAJOR:MINOR INODE   PATH".
func parseMapping(line []byte) (m Mapping, path []byte, ok bool) {
	word := func() string {
		var w []byte
		w, line, _ = bytes.Cut(line, []byte(" "))
		return string(w)
	}
	hex := func(s string) uint64 {
		v, err := strconv.ParseUint(s, 16, 64)
		ok = ok && err == nil
		return v
	}
	ok = true
	start, end, _ := strings.Cut(word(), "-")
	m.Start, m.End = hex(start), hex(end)
	perm := word()
	if len(perm) != 4 || m.End < m.Start {
		return m, nil, false
	}
	m.Read, m.Write, m.Exec, m.Shared = perm[0] == 'r', perm[1] == 'w', perm[2] == 'x', perm[3] == 's'
	m.Offset = hex(word())
	major, minor, _ := strings.Cut(word(), ":")
	m.Dev = unix.Mkdev(uint32(hex(major)), uint32(hex(minor)))
	inode, err := strconv.ParseUint(word(), 10, 64)
	m.Inode = inode
	return m, bytes.TrimLeft(line, " "), ok && err == nil
}

// Copied returns the path of a file whose code process pid runs from a copy in anonymous
// memory, "" if there is none: such as node with --use-largepages, which the kernel serves
// with larger pages there. No uprobe fires in the copy.
func Copied(pid int) string {
	maps, err := Maps(pid)
	if err != nil {
		return ""
	}
	return CopiedIn(pid, maps)
}

// CopiedIn is Copied for who has the process's maps.
func CopiedIn(pid int, maps []Mapping) string {
	if !slices.ContainsFunc(maps, func(m Mapping) bool { return m.copy() }) {
		return ""
	}
	if auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid)); err == nil {
		for _, word := range []int{8, 4} { // in 64-bit processes, and in others
			entry := Auxiliary(auxv, word, EntryPoint)
			for i := range maps {
				if m := &maps[i]; m.Start <= entry && entry < m.End && m.copy() {
					path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
					return strings.TrimSuffix(path, deleted)
				}
			}
		}
	}
	return copied(maps)
}

// copied returns the path of a file that has code missing between two of its mappings, and
// other code in its place.
func copied(maps []Mapping) string {
	for i := range maps {
		before, end := &maps[i], i+1
		for ; end < len(maps) && maps[end].copy() && maps[end].Start == maps[end-1].End; end++ {
		}
		if end == i+1 || end == len(maps) || before.Inode == 0 || before.copy() {
			continue
		}
		after := &maps[end]
		if after.Start == maps[end-1].End && before.Dev == after.Dev && before.Inode == after.Inode {
			return strings.TrimSuffix(before.Path, deleted)
		}
	}
	return ""
}

// copy reports whether the mapping may be of copied code: memory of huge pages has an
// inode of its own.
func (m *Mapping) copy() bool {
	anonymous := m.Inode == 0 && (m.Path == "" || strings.HasPrefix(m.Path, "[anon"))
	return m.Exec && (anonymous || strings.HasPrefix(m.Path, "/anon_hugepage"))
}
