package nested

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Log is the kernel's log from some time on. A nil Log says nothing.
type Log struct {
	mu   sync.Mutex // of what follows
	fd   int        // -1 when it is closed
	left map[int]bool
}

// Open opens the kernel's log at its end. The error says why that may not be read: it takes
// CAP_SYSLOG where kernel.dmesg_restrict is set.
func Open() (*Log, error) {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return newLog(fd), nil
}

// newLog returns the log that a descriptor reads, a record at a time.
func newLog(fd int) *Log { return &Log{fd: fd, left: map[int]bool{}} }

// Processes returns the processes in which returns were left out since Open, in ascending order,
// by their PIDs in the initial namespace.
func (l *Log) Processes() []int {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	return slices.Sorted(maps.Keys(l.left))
}

// read reads what is new. l.mu is locked.
func (l *Log) read() {
	record := make([]byte, 8<<10) // include/linux/printk.h: PRINTK_MESSAGE_MAX is 2 KiB
	for l.fd >= 0 {
		n, err := unix.Read(l.fd, record)
		switch {
		case err == unix.EPIPE || err == unix.EINTR: // older records have been overwritten
		case err != nil || n == 0:
			return
		default:
			if pid, ok := parse(record[:n]); ok {
				l.left[pid] = true
			}
		}
	}
}

// Close reads the log for the last time. Calling it again is safe.
func (l *Log) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fd < 0 {
		return
	}
	l.read()
	unix.Close(l.fd)
	l.fd = -1
}

// parse returns the process that a record of the log names as one in which a return was left out
// (Documentation/ABI/testing/dev-kmsg). Records that processes have written begin with another
// facility than the kernel's.
func parse(record []byte) (pid int, ok bool) {
	prefix, text, _ := bytes.Cut(record, []byte(";"))
	text, ok = bytes.CutPrefix(text, []byte("uprobe: omit uretprobe due to nestedness limit pid/tgid="))
	if !ok {
		return 0, false
	}
	level, _, _ := bytes.Cut(prefix, []byte(","))
	if n, err := strconv.Atoi(string(level)); err != nil || n > 7 {
		return 0, false
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	_, group, _ := bytes.Cut(text, []byte("/"))
	pid, err := strconv.Atoi(string(group))
	return pid, err == nil
}
