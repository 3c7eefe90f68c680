package attach_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
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
