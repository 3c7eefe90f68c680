package bpf

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// NewLinks returns the links of OwnLinks that are not in before, some of which the
// kernel may still be closing.
func NewLinks(t testing.TB, before []*link.Info) []*link.Info {
	t.Helper()
	return slices.DeleteFunc(OwnLinks(t), func(l *link.Info) bool {
		return slices.ContainsFunc(before, func(b *link.Info) bool { return b.ID == l.ID })
	})
}

// OwnLinks returns the BPF links that this process holds, as the kernel
// describes them.
func OwnLinks(t testing.TB) []*link.Info {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[link.ID]bool{}
	var out []*link.Info
	for _, fd := range fds {
		data, err := os.ReadFile("/proc/self/fdinfo/" + fd.Name())
		if err != nil {
			continue // the descriptor of the directory
		}
		var id link.ID
		for line := range strings.Lines(string(data)) {
			if text, ok := strings.CutPrefix(line, "link_id:"); ok {
				if _, err := fmt.Sscan(text, &id); err != nil {
					t.Fatal(err)
				}
			}
		}
		if id == 0 || seen[id] {
			continue
		}
		seen[id] = true
		n, err := strconv.Atoi(fd.Name())
		if err != nil {
			t.Fatal(err)
		}
		// Opening a link by its id takes CAP_SYS_ADMIN.
		dup, err := unix.FcntlInt(uintptr(n), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		l, err := link.NewFromFD(dup)
		if err != nil {
			t.Fatal(err)
		}
		info, err := l.Info()
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		out = append(out, info)
	}
	return out
}
