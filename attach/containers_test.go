package attach_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestContainers starts and stops 50 containers during tracing, by the paths that runtimes give
// them, and checks that every event of them is counted and none of others.
func TestContainers(t *testing.T) { checkContainers(t, cgroups(t)) }

// TestContainersV1 is TestContainers for containers that have groups of version 1 only.
func TestContainersV1(t *testing.T) { checkContainers(t, cgroupsV1(t)) }

func checkContainers(t *testing.T, root string) {
	const uid = "0f3a5c7e-9b1d-4e2f-8a6b-1c2d3e4f5a6b"
	top := filepath.Join(root, fmt.Sprintf("usdt_containers_%d", os.Getpid()))
	pod := top + "/kubepods-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
	makeGroups(t, top, pod)
	p := startChild(t, "latency")
	move := mover(t, p, root)
	p.Do("load")
	const prefix = "abcdef012345"
	count := func(target attach.Target) *attach.Aggregate {
		target.PIDs = []int{p.PID()} // so that rescans are cheap
		a, err := attach.OpenAggregate(t.Context(), []string{"lat:start"}, attach.Count(), &attach.Options{Target: target})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		return a
	}
	all := map[string]*attach.Aggregate{
		"container": count(attach.Target{Container: prefix}),
		"pod":       count(attach.Target{Pod: uid}),
		"both":      count(attach.Target{Pod: uid, Container: prefix}),
		"glob":      count(attach.Target{Cgroup: strings.TrimPrefix(top, root) + "/docker-*.scope"}),
		"mounted":   count(attach.Target{Cgroup: top + "/docker-*"}),
		"none":      count(attach.Target{Container: "nobody-has-this-name"}),
	}
	want := map[string]uint64{}
	for i := range 50 {
		id := fmt.Sprintf("%s%052d", prefix, i)
		dir, in := top+"/docker-"+id+".scope", []string{"container", "glob", "mounted"}
		switch i % 3 {
		case 1:
			dir, in = pod+"/cri-containerd-"+id+".scope", []string{"container", "pod", "both"}
		case 2:
			dir, in = top+"/docker-"+strings.Replace(id, prefix, "000000000000", 1)+".scope", []string{"glob", "mounted"}
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		at := dir
		if i%2 == 1 {
			at = dir + "/init.scope" // a process that makes groups in its container
			if err := os.Mkdir(at, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, a := range all {
			if err := a.Rescan(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		move(at)
		p.Do("start %d x", i)
		move(top)
		p.Do("start %d x", 100+i) // of none
		for ; at != filepath.Dir(dir); at = filepath.Dir(at) {
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range in {
			want[name]++
		}
	}
	for name, a := range all {
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		groups, err := a.Read()
		got := uint64(0)
		for _, g := range groups {
			got += g.Count
		}
		if err != nil || got != want[name] {
			t.Errorf("%s: %d events, error %v, want %d", name, got, err, want[name])
		}
	}
}

// TestContainersOfRuntimes starts and stops 50 containers, a few at a time, in the groups that containerd, CRI-O,
// Docker and Podman make with systemd and without: processes with namespaces of their own. A pod and a container
// start again: they have the same name, and other ids. Every event of a selected container is counted, from the
// first one on, and no event of another.
func TestContainersOfRuntimes(t *testing.T) {
	root := cgroups(t)
	program := needs.Compile(t, "testdata/contained.c", "gcc", "-O1")
	const containers, fires = 50, 40
	self := os.Getpid()
	top := fmt.Sprintf("%s/usdt_runtimes_%d", root, self)
	uid := func(n int) string { return fmt.Sprintf("0f3a5c7e-9b1d-4e2f-8a6b-%08x%04x", self, n) }
	slice := func(uid string) string {
		return "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
	}
	static := fmt.Sprintf("%032x", self) // a hash
	id := func(n int) string { return fmt.Sprintf("%012x%052d", 0xabc000000000+self, n) }
	// Each has its group, and which aggregates select it beside "all".
	forms := []struct {
		dir string
		in  []string
	}{
		{"/system.slice/docker-%s.scope", nil},
		{"/docker/%s", nil},
		{slice(uid(0)) + "/cri-containerd-%s.scope", []string{"pod"}},
		{"/kubepods/burstable/pod" + uid(0) + "/%s", []string{"pod"}},
		{slice(uid(0)) + "/crio-%s.scope/container", []string{"pod"}},
		{"/kubepods/burstable/pod" + uid(0) + "/crio-%s", []string{"pod"}},
		{"/machine.slice/libpod-%s.scope/container", nil},
		{"/libpod_parent/libpod-%s", nil},
		{slice(static) + "/cri-containerd-%s.scope", []string{"static"}},
		{slice(uid(1)) + "/cri-containerd-%s.scope", []string{"pod again", "container again"}},
		{slice(uid(2)) + "/cri-containerd-%s.scope", []string{"pod again", "container again"}},
	}
	kept := []string{"/var/log/pods", "/var/log/containers"} // by the kubelet
	for n := range 2 {
		kept = append(kept, fmt.Sprintf("/var/log/pods/usdt-%d_web-0_%s", self, uid(1+n)))
	}
	for i := range containers {
		if slices.Contains(forms[i%len(forms)].in, "container again") {
			kept = append(kept, fmt.Sprintf("/var/log/containers/web-0_usdt-%d_app-%[1]d-%s.log", self, id(i)))
		}
	}
	for _, path := range kept {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, path := range slices.Backward(kept) {
			os.Remove(path) // which may have others' files
		}
		var dirs []string
		filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		}
	})
	all := map[string]*attach.Aggregate{}
	for name, target := range map[string]attach.Target{
		"all": {Container: id(0)[:12]}, "pod": {Pod: uid(0)}, "static": {Pod: static},
		"pod again": {Pod: fmt.Sprintf("usdt-%d/web-0", self)}, "container again": {Container: fmt.Sprintf("app-%d", self)},
	} {
		a, err := attach.OpenAggregate(t.Context(), []string{program + ":contained:work"}, attach.Count().By("arg0"), &attach.Options{Target: target, Await: true, Rescan: time.Hour})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		defer a.Close()
		all[name] = a
	}
	// contain runs a process in a group that it makes.
	contain := func(dir string, container int) error {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for _, a := range all {
			if err := a.Rescan(); err != nil {
				return err
			}
		}
		group, err := os.Open(dir)
		if err != nil {
			return err
		}
		defer group.Close()
		cmd := exec.Command(program, fmt.Sprint(fires), fmt.Sprint(container))
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %s", err, out)
		}
		return os.Remove(dir)
	}
	next := make(chan int)
	var wave sync.WaitGroup
	for range 4 {
		wave.Go(func() {
			for i := range next {
				other := fmt.Sprintf("/system.slice/docker-%064x.scope", i)
				if err := errors.Join(contain(top+fmt.Sprintf(forms[i%len(forms)].dir, id(i)), i), contain(top+other, -1)); err != nil {
					t.Errorf("container %d: %v", i, err)
				}
			}
		})
	}
	want := map[string]map[string]uint64{}
	for i := range containers {
		next <- i
		for _, name := range append([]string{"all"}, forms[i%len(forms)].in...) {
			if want[name] == nil {
				want[name] = map[string]uint64{}
			}
			want[name][fmt.Sprint(i)] = fires
		}
	}
	close(next)
	wave.Wait()
	for name, a := range all {
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		groups, err := a.Read()
		got := map[string]uint64{}
		for _, g := range groups {
			got[fmt.Sprint(g.By[0].Value)] = g.Count
		}
		if d := cmp.Diff(got, want[name]); err != nil || d != "" {
			t.Errorf("%s: error %v, events by container (-got +want):\n%s", name, err, d)
		}
	}
}

// TestContainersRefused checks what cannot be selected by.
func TestContainersRefused(t *testing.T) {
	for option, target := range map[string][]attach.Target{
		"Cgroup":    {{Cgroup: "a[*"}, {Cgroup: "/sys/fs/cgroup/a", Container: "b"}},
		"Container": {{Container: "a["}},
		"Pod":       {{Pod: "web"}, {Pod: "/"}, {Pod: "shop/web/more"}},
	} {
		for _, target := range target {
			err := (&attach.Options{Target: target}).Validate()
			if at := (*attach.OptionError)(nil); !errors.As(err, &at) || at.Option != option {
				t.Errorf("%+v: %v, want an error about %s", target, err, option)
			}
		}
	}
}
