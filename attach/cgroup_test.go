package attach_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// cgroups mounts the hierarchy of version 2, and returns where.
func cgroups(t *testing.T) string {
	t.Helper()
	needs.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "cgroup2", 0, ""); err != nil {
		needs.Skip(t, "the hierarchy of control groups cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// makeGroups makes control groups, which it removes at the end, the last one first.
func makeGroups(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
	}
}

// mover returns what moves a process to a control group. It is moved to the root at the end.
func mover(t *testing.T, p *tracee.Program, root string) (move func(dir string)) {
	move = func(dir string) {
		t.Helper()
		if err := os.WriteFile(dir+"/cgroup.procs", fmt.Append(nil, p.PID()), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { move(root) })
	return move
}

// TestCgroup checks that events of one control group, and of those below it, are recorded
// and counted, and of no others: wherever a process is moved, and by all ways.
func TestCgroup(t *testing.T) {
	sharedToo(t, func(t *testing.T) { checkCgroup(t, cgroups(t)) })
}

// TestCgroupV1 is TestCgroup for groups of version 1.
func TestCgroupV1(t *testing.T) {
	sharedToo(t, func(t *testing.T) { checkCgroup(t, cgroupsV1(t)) })
}

func checkCgroup(t *testing.T, root string) {
	above := filepath.Join(root, fmt.Sprintf("usdt_%d", os.Getpid()))
	group, below, beside := above+"/group", above+"/group/below", above+"/group2"
	makeGroups(t, above, group, below, beside)
	p := startChild(t, "latency")
	move := mover(t, p, root)
	p.Do("load")
	move(below)
	opts := by(t, &attach.Options{Target: attach.Target{Cgroup: group}})
	s, err := attach.Open(t.Context(), []string{"lat:start"}, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer s.Close()
	a, err := attach.OpenAggregate(t.Context(), []string{"lat:start"}, attach.Count(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	fired := 0
	for i, dir := range []string{below, group, beside, above, root, below} {
		move(dir)
		p.Do("start %d x", i)
		// A process that shares memory was selected when it was found.
		if strings.HasPrefix(dir, group+"/") || dir == group || s.Via() == attach.ViaLocal {
			fired++
		}
	}
	if err := errors.Join(s.Stop(), a.Stop()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; ev.PID != p.PID() {
			t.Errorf("event of process %d, want %d", ev.PID, p.PID())
		}
	}
	groups, err := a.Read()
	if err != nil || len(groups) != 1 || n != fired || groups[0].Count != uint64(fired) {
		t.Errorf("%d events, groups %v, error %v, want %d of each", n, groups, err, fired)
	}
	if st, err := s.Stats(); err != nil || st.Fired != uint64(fired) {
		t.Errorf("stats %+v, error %v, want %d fired, and the others not even counted", st, err, fired)
	}
	other := by(t, &attach.Options{Target: attach.Target{Cgroup: beside}})
	other.Await, other.Rescan = true, 1e9
	if o, err := attach.OpenAggregate(t.Context(), []string{"lat:start"}, attach.Count(), other); err != nil {
		t.Error(err)
	} else {
		p.Do("start 9 x")
		if err := o.Stop(); err != nil {
			t.Error(err)
		}
		if groups, err := o.Read(); err != nil || len(groups) > 0 && groups[0].Count > 0 {
			t.Errorf("of another group %v are counted, error %v", groups, err)
		}
		o.Close()
	}
	for _, wrong := range []string{group + "/none", group + "/cgroup.procs", t.TempDir()} {
		o, err := attach.OpenAggregate(t.Context(), []string{"lat:start"}, attach.Count(), &attach.Options{Target: attach.Target{Cgroup: wrong, PIDs: []int{p.PID()}, Via: s.Via()}})
		if err == nil {
			o.Close()
			t.Errorf("%s is taken for a control group", wrong)
		}
	}
}

// TestCgroupAgain checks that a control group is selected that takes another one's place, as that of a
// service which starts again, from the next look for probes on.
func TestCgroupAgain(t *testing.T) {
	for _, root := range []func(*testing.T) string{cgroups, cgroupsV1} {
		root := root(t)
		group := filepath.Join(root, fmt.Sprintf("usdt_again_%d", os.Getpid()))
		p := startChild(t, "latency")
		enter := func() {
			if err := os.Mkdir(group, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(group+"/cgroup.procs", fmt.Append(nil, p.PID()), 0); err != nil {
				t.Fatal(err)
			}
		}
		leave := func() {
			if err := errors.Join(os.WriteFile(root+"/cgroup.procs", fmt.Append(nil, p.PID()), 0), os.Remove(group)); err != nil {
				t.Fatal(err)
			}
		}
		p.Do("load")
		enter()
		a, err := attach.OpenAggregate(t.Context(), []string{"lat:start"}, attach.Count(), &attach.Options{Target: attach.Target{Cgroup: group}, Rescan: time.Hour})
		if err != nil {
			leave()
			needPrivileges(t, err)
			t.Fatal(err)
		}
		p.Do("start 1 x")
		leave()
		if err := a.Rescan(); err != nil {
			t.Errorf("without the group: %v", err)
		}
		p.Do("start 2 x") // in none
		enter()
		if err := a.Rescan(); err != nil {
			t.Error(err)
		}
		p.Do("start 3 x")
		p.Do("start 4 x")
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
		if groups, err := a.Read(); err != nil || len(groups) != 1 || groups[0].Count != 3 {
			t.Errorf("%s: groups %v, error %v, want 3 events: one before and two after it was made again", root, groups, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		leave()
	}
}

// TestKernelCgroup counts calls of a function and of a system call that programs in one control group make. The kernel
// runs BPF programs there for all processes.
func TestKernelCgroup(t *testing.T) {
	selectors := []string{"tracepoint:syscalls:sys_enter_fallocate"}
	if _, err := os.Stat("/sys/bus/event_source/devices/kprobe/type"); err == nil {
		selectors = append(selectors, "kprobe:vfs_fallocate", "kretprobe:vfs_fallocate")
	}
	root := cgroups(t)
	above := filepath.Join(root, fmt.Sprintf("usdt_kernel_%d", os.Getpid()))
	group, beside := above+"/group", above+"/group2"
	makeGroups(t, above, group, beside)
	p, other := startChild(t, "fallocating"), startChild(t, "fallocating")
	move := mover(t, p, root)
	mover(t, other, root)(beside)
	for _, selector := range selectors {
		a, err := attach.OpenAggregate(t.Context(), []string{selector}, attach.Count().By("pid"), &attach.Options{Target: attach.Target{Cgroup: group}})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		defer a.Close()
		for i, dir := range []string{group, beside, group, above} { // 1 + 4 calls in the group
			move(dir)
			p.Do("%d 4096", 1<<i)
			other.Do("7 4096")
		}
		groups, err := a.Read()
		if err != nil || len(groups) != 1 || groups[0].Count != 5 || fmt.Sprint(groups[0].By[0].Value) != fmt.Sprint(p.PID()) {
			t.Errorf("%s: groups %+v, error %v, want 5 calls of process %d", selector, groups, err, p.PID())
		}
	}
}
