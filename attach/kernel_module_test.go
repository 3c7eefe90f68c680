package attach_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestKernelModule traces functions of a module that is loaded later, by pattern and by name, and reads their arguments by
// the module's types: disks that lie in files are asked about themselves.
func TestKernelModule(t *testing.T) {
	needs.Kprobes(t)
	needs.Loop(t)
	dir := needs.Disk(t)
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	disk, err := os.Open(fmt.Sprintf("/dev/loop%d", unix.Minor(st.Dev)))
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	const device = "bdev.bd_dev"
	selectors := []string{"kprobe:loop:lo_ioct?", "kretprobe:loop:lo_ioctl"}
	if trampolines(t) {
		selectors = append(selectors, "fentry:loop:lo_ioctl", "fexit:loop:lo_ioct?")
	}
	o := functionsOf(os.Getpid(), "")
	o.Follow = []string{device}
	s, err := attach.Open(t.Context(), selectors, o)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer s.Close()
	groups, err := attach.OpenAggregate(t.Context(), []string{"kprobe:loop:lo_*"}, attach.Count().By("func", "module", "cmd"),
		functionsOf(os.Getpid(), fmt.Sprintf("cmd >= %d", unix.LOOP_SET_FD)))
	if err != nil {
		t.Fatal(err)
	}
	defer groups.Close()
	const calls = 15
	for range calls {
		if info, err := unix.IoctlLoopGetStatus64(int(disk.Fd())); err != nil {
			t.Fatal(err)
		} else if name := unix.ByteSliceToString(info.File_name[:]); filepath.Base(name) != "disk" {
			t.Errorf("the disk lies in %s", name)
		}
	}
	got, err := groups.Read()
	if err != nil || len(got) != 1 || got[0].Count != calls || fmt.Sprint(got[0].By[0].Value, got[0].By[1].Value, got[0].By[2].Value) != fmt.Sprint("lo_ioctl", "loop", unix.LOOP_GET_STATUS64) {
		t.Errorf("groups %+v, error %v, want %d calls", got, err, calls)
	}
	number := uint64(unix.Major(st.Dev))<<20 | uint64(unix.Minor(st.Dev)) // as the kernel numbers it within itself
	seen := map[string]int{}
	for _, ev := range drain(t, s) {
		kind, args := ev.Probe.Kind, fieldsOf(t, &ev)
		seen[kind.String()]++
		if ev.Provider != "loop" || ev.Name != "lo_ioctl" {
			t.Errorf("event of %s:%s", ev.Provider, ev.Name)
		}
		if kind.HasArguments() && (args["cmd"] != uint64(unix.LOOP_GET_STATUS64) || args[device] != number) {
			t.Errorf("%v: arguments %v, want command %d, device %#x", kind, args, unix.LOOP_GET_STATUS64, number)
		}
		if kind.IsReturn() && args["retval"] != int64(0) {
			t.Errorf("%v: result %v", kind, args["retval"])
		}
	}
	if len(seen) != len(selectors) {
		t.Errorf("events of %v, want %v", seen, selectors)
	}
	for kind, n := range seen {
		if n != calls {
			t.Errorf("%d events of %s, want %d", n, kind, calls)
		}
	}
	for i, site := range s.Plan() {
		if !site.Attached {
			t.Errorf("site %d: %v", i, site.Reason)
		}
	}
}

// TestKernelMissed has more tasks than processors call a function, of whose entries a kprobe misses none. Some
// kernels have places for few returns at a time, and count the others as missed.
func TestKernelMissed(t *testing.T) {
	needs.Kprobes(t)
	if missed := compareMissed(t, "fallocating", "2000 4096", "kprobe:vfs_fallocate", "kprobe:*_sys_fallocate", ""); missed > 0 {
		t.Errorf("%d calls were missed", missed)
	}
	compareMissed(t, "fallocating", "2000 4096", "kretprobe:vfs_fallocate", "kretprobe:*_sys_fallocate", "")
}
