package cgroups_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/cgroups"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

const uid = "0f3a5c7e-9b1d-4e2f-8a6b-1c2d3e4f5a6b"

// place mounts the hierarchy, and returns a new group and its path.
func place(t *testing.T) (dir, group string) {
	t.Helper()
	needs.Root(t)
	root := t.TempDir()
	if err := unix.Mount("none", root, "cgroup2", 0, ""); err != nil {
		needs.Skip(t, "the hierarchy of control groups cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	})
	group = fmt.Sprintf("/usdt_watch_%d", os.Getpid())
	mkdir(t, root+group)
	return root + group, group
}

// mkdir makes a group that is removed at the end, if it is still there.
func mkdir(t *testing.T, dir string) (id uint64) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	})
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// TestWatch checks which groups are in the map: earlier and later ones, nested ones, not others,
// and none that is gone.
func TestWatch(t *testing.T) {
	before := leftover.Descriptors(t)
	t.Cleanup(func() { leftover.Back(t, before) })
	dir, group := place(t)
	early := mkdir(t, dir+"/early.scope")
	other := mkdir(t, dir+"/other.slice")
	w, err := cgroups.Open(container.Selector{Glob: group + "/*.scope"}, container.Names{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	has := func(id uint64, want bool) {
		t.Helper()
		var v uint8
		if err := w.Map.Lookup(id, &v); (err == nil) != want {
			t.Errorf("group %d: %v, want %v", id, err, want)
		}
	}
	has(early, true)
	has(other, false)
	later := mkdir(t, dir+"/later.scope")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		var v uint8
		if err := w.Map.Lookup(later, &v); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("a group that was made later is not found by itself: %v", err)
		}
	}
	for range 50 {
		id := mkdir(t, dir+"/brief.scope")
		if err := w.Refresh(); err != nil {
			t.Fatal(err)
		}
		has(id, true)
		if err := os.Remove(dir + "/brief.scope"); err != nil {
			t.Fatal(err)
		}
		if err := w.Refresh(); err != nil {
			t.Fatal(err)
		}
		has(id, false)
	}
	has(other, false)
	has(later, true)
}

// TestWatchNames checks that a container is selected once a file names it.
func TestWatchNames(t *testing.T) {
	dir, _ := place(t)
	names := container.Names{Root: t.TempDir()}
	w, err := cgroups.Open(container.Selector{Pod: "shop/web-*", Container: "app"}, names)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pod := dir + "/kubepods-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
	mkdir(t, pod)
	id := strings.Repeat("0a", 32)
	scope := mkdir(t, pod+"/cri-containerd-"+id+".scope")
	mkdir(t, pod+"/cri-containerd-"+strings.Repeat("0b", 32)+".scope")
	count := func() (n int, last uint64) {
		if err := w.Refresh(); err != nil {
			t.Fatal(err)
		}
		var v uint8
		for all := w.Map.Iterate(); all.Next(&last, &v); {
			n++
		}
		return n, last
	}
	if n, _ := count(); n != 0 {
		t.Errorf("%d groups are selected before anything names them", n)
	}
	for _, path := range []string{"/var/log/pods/shop_web-1_" + uid + "/app", "/var/log/containers/web-1_shop_app-" + id + ".log"} {
		if err := os.MkdirAll(filepath.Join(names.Root, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if n, last := count(); n != 1 || last != scope {
		t.Errorf("%d groups are selected, the last is %d, want only %d", n, last, scope)
	}
}

func TestWatchRefuses(t *testing.T) {
	for _, s := range []container.Selector{{Glob: "[a"}, {Container: "a["}, {Pod: "web"}, {Pod: "/web"}, {Pod: "shop/"}} {
		if w, err := cgroups.Open(s, container.Names{}); err == nil {
			w.Close()
			t.Errorf("%+v is accepted", s)
		}
	}
}

// TestWatchV1 checks which groups of version 1 are in the map, and that a process is known to be in one.
func TestWatchV1(t *testing.T) {
	needs.Root(t)
	before := leftover.Descriptors(t)
	t.Cleanup(func() { leftover.Back(t, before) })
	root := t.TempDir()
	if err := unix.Mount("none", root, "cgroup", 0, "pids"); err != nil {
		needs.Skip(t, "the hierarchy of control groups of version 1 cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	})
	group := fmt.Sprintf("/usdt_watch_v1_%d", os.Getpid())
	id := mkdir(t, root+group)
	other := mkdir(t, root+group+"_other")
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for _, glob := range []string{group, root + group} {
		s := container.Selector{Glob: glob}
		w, err := cgroups.Open(s, container.Names{})
		if err != nil {
			t.Fatal(err)
		}
		var v uint8
		if err := w.Map.Lookup(id|1<<63, &v); err != nil {
			t.Errorf("%s: group %d: %v", glob, id, err)
		}
		if err := w.Map.Lookup(other|1<<63, &v); err == nil {
			t.Errorf("%s: group %d is in the map", glob, other)
		}
		w.Close()
		for dir, want := range map[string]bool{root + group: true, root + group + "_other": false, root: false} {
			if err := os.WriteFile(dir+"/cgroup.procs", fmt.Append(nil, cmd.Process.Pid), 0); err != nil {
				t.Fatal(err)
			}
			if has, err := cgroups.Has(s, cmd.Process.Pid); has != want || err != nil {
				t.Errorf("%s: in %s: %v, %v, want %v", glob, dir, has, err, want)
			}
		}
		if err := os.WriteFile(root+"/cgroup.procs", fmt.Append(nil, cmd.Process.Pid), 0); err != nil {
			t.Fatal(err)
		}
	}
}
