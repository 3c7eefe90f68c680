package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/sys"
)

// holder is a process.
type holder struct {
	pid  int
	comm string
}

// perfUprobe is one of a holder's perf events.
type perfUprobe struct {
	sys.PerfUprobe
	holder
}

// holders is what the descriptors of all processes refer to.
type holders struct {
	links   map[uint32][]holder // by id
	events  []perfUprobe        // with BPF programs
	unknown []holder            // processes that have other perf events
}

// holders reads the descriptors of all processes.
func (w *Watchers) holders() *holders {
	h := &holders{links: map[uint32][]holder{}}
	pids, err := procfs.PIDs()
	if err != nil {
		w.Unseen = append(w.Unseen, err)
		return h
	}
	hidden := 0
	for _, pid := range pids {
		if err := h.scan(pid); errors.Is(err, os.ErrPermission) {
			hidden++
		}
	}
	if hidden > 0 {
		w.Unseen = append(w.Unseen, fmt.Errorf("what %d processes hold, which takes CAP_SYS_PTRACE", hidden))
	}
	return h
}

// scan reads the descriptors of a process.
func (h *holders) scan(pid int) error {
	dir := fmt.Sprintf("/proc/%d", pid)
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return err
	}
	comm, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil {
		return err
	}
	who := holder{pid, strings.TrimSuffix(string(comm), "\n")}
	unknown := false
	for _, e := range fds {
		target, err := os.Readlink(filepath.Join(dir, "fd", e.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		switch target {
		case "anon_inode:bpf_link", "anon_inode:bpf-link":
			if id, ok := linkID(filepath.Join(dir, "fdinfo", e.Name())); ok {
				h.links[id] = append(h.links[id], who)
			}
		case "anon_inode:[perf_event]":
			fd, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			switch u, err := sys.TaskPerfUprobe(pid, fd); {
			case u != nil:
				h.events = append(h.events, perfUprobe{*u, who})
			case errors.Is(err, unix.ENOENT):
				unknown = true
			}
		}
	}
	if unknown {
		h.unknown = append(h.unknown, who)
	}
	return nil
}

// linkID reads the id of a link from the kernel's description of its descriptor,
// kernel/bpf/syscall.c (bpf_link_show_fdinfo).
func linkID(path string) (id uint32, ok bool) {
	info, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(info)) {
		if digits, found := strings.CutPrefix(line, "link_id:"); found {
			n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 32)
			return uint32(n), err == nil
		}
	}
	return 0, false
}
