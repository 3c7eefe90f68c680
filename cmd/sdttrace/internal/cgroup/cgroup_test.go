package cgroup

import (
	"fmt"
	"testing"
)

// mountinfo are lines of /proc/self/mountinfo of machines with both versions, with
// version 2 only, and in a container that sees a part of it.
const (
	bothVersions = `30 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw`
	versionTwo  = `30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate`
	inContainer = `30 23 0:26 /pod7 /sys/fs/cgroup ro - cgroup2 cgroup rw`
)

func TestHierarchies(t *testing.T) {
	for _, c := range []struct{ mountinfo, want string }{
		{bothVersions, "[{/sys/fs/cgroup/unified / []} {/sys/fs/cgroup/cpu,cpuacct / [rw cpu cpuacct]} {/sys/fs/cgroup/systemd / [rw xattr name=systemd]}]"},
		{versionTwo, "[{/sys/fs/cgroup / []}]"},
		{inContainer, "[{/sys/fs/cgroup /pod7 []}]"},
		{"", "[]"},
	} {
		if got := fmt.Sprint(hierarchies([]byte(c.mountinfo))); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestContains(t *testing.T) {
	const process = "9:name=systemd:/init\n5:cpu,cpuacct:/web/one\n0::/system.slice/web.service\n"
	two, cpu := hierarchy{}, hierarchy{controllers: []string{"rw", "cpu", "cpuacct"}}
	for _, c := range []struct {
		in    hierarchy
		path  string
		wants bool
	}{
		{two, "/system.slice/web.service", true},
		{two, "/system.slice", true},
		{two, "/", true},
		{two, "/system.slice/web", false},
		{two, "/web", false},
		{two, "/init", false},
		{cpu, "/web", true},
		{cpu, "/web/one", true},
		{cpu, "/web/one/more", false},
	} {
		if got := newGroup(c.in, "", c.path).contains([]byte(process)); got != c.wants {
			t.Errorf("%v %s: %v, want %v", c.in.controllers, c.path, got, c.wants)
		}
	}
}
