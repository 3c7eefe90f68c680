package attach_test

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/total"
)

const podUID = "0f3a5c7e-9b1d-4e2f-8a6b-1c2d3e4f5a6b"

// groupDirs makes a group for tests and one of a pod in it.
func groupDirs(t *testing.T, root string) (top, pod string) {
	t.Helper()
	top = filepath.Join(root, fmt.Sprintf("usdt_keys_%d", os.Getpid()))
	pod = top + "/kubepods-pod" + strings.ReplaceAll(podUID, "-", "_") + ".slice"
	makeGroups(t, top, pod)
	return top, pod
}

// counted returns the events of groups by the text of a key.
func counted(t *testing.T, a *attach.Aggregate, key int) map[string]uint64 {
	t.Helper()
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	return countedOf(t, groups, key)
}

func countedOf(t *testing.T, groups []total.Group, key int) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	for _, g := range groups {
		text, ok := g.By[key].Value.(string)
		if !ok || g.By[key].Err != nil || all[text] > 0 {
			t.Errorf("group %v: a key that is no text, or comes twice", g.By)
		}
		all[text] += g.Count
	}
	return all
}

// TestByContainer starts 50 containers that end at once, looks at nothing meanwhile, and checks
// that each event counts for its container, also those of groups within one.
func TestByContainer(t *testing.T) {
	checkByContainer(t, cgroups(t))
}

func checkByContainer(t *testing.T, root string) {
	top, pod := groupDirs(t, root)
	p := startChild(t, "latency")
	move := mover(t, p, root)
	p.Do("load")
	count := func(by string) *attach.Aggregate {
		a, err := attach.OpenAggregate(t.Context(), []string{"lat:start"}, attach.Count().By(by), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		return a
	}
	all := map[string]*attach.Aggregate{"cgroup": count("cgroup"), "container": count("container"), "pod": count("pod")}
	want := map[string]map[string]uint64{"cgroup": {}, "container": {}, "pod": {}}
	fire := func(dir, container, pod string, n int) {
		move(dir)
		for range n {
			p.Do("start 1 x")
		}
		for key, text := range map[string]string{"cgroup": strings.TrimPrefix(dir, root), "container": container, "pod": pod} {
			if text == "" && key == "cgroup" {
				text = "/"
			}
			want[key][text] += uint64(n)
		}
	}
	for i := range 50 {
		id := fmt.Sprintf("%012x%052d", 0xabcdef000000+i, i)
		dir, of := top+"/docker-"+id+".scope", ""
		if i%3 == 1 {
			dir, of = pod+"/cri-containerd-"+id+".scope", podUID
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		fire(dir, id[:12], of, 1+i%3)
		below := dir + "/init.scope"
		if i%2 == 1 {
			if err := os.Mkdir(below, 0o755); err != nil {
				t.Fatal(err)
			}
			fire(below, id[:12], of, 2)
		}
		fire(top, "", "", 1)
		for _, gone := range []string{below, dir} {
			if err := os.Remove(gone); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	fire(root, "", "", 3)
	for key, a := range all {
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		got := counted(t, a, 0)
		if d := cmp.Diff(got, want[key]); d != "" {
			t.Errorf("by %s (-got +want):\n%s", key, d)
		}
	}
}

// cgroupsV1 mounts a hierarchy of version 1, and returns where.
func cgroupsV1(t *testing.T) string {
	t.Helper()
	needs.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "cgroup", 0, "pids"); err != nil {
		needs.Skip(t, "the hierarchy of control groups of version 1 cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestByContainerV1 is TestByContainer for containers that have groups of version 1 only.
func TestByContainerV1(t *testing.T) { checkByContainer(t, cgroupsV1(t)) }

// TestWhereContainer checks that the kernel tests conditions on control groups, also of containers
// that start later, in records and in sums, and that conditions that are tested here agree.
func TestWhereContainer(t *testing.T) { checkWhereContainer(t, cgroups(t), false) }

// TestWhereContainerV1 is TestWhereContainer for groups of version 1, with fewer conditions.
func TestWhereContainerV1(t *testing.T) { checkWhereContainer(t, cgroupsV1(t), true) }

func checkWhereContainer(t *testing.T, root string, few bool) {
	top, pod := groupDirs(t, root)
	p := startChild(t, "latency")
	move := mover(t, p, root)
	p.Do("load")
	name, docker := filepath.Base(top), func(i int) string { return fmt.Sprintf("%012x%052d", 0xabcdef000000+i, i) }
	dirs := []string{
		top, top + "/docker-" + docker(1) + ".scope", top + "/docker-" + docker(2) + ".scope", top + "/docker-" + docker(2) + ".scope/init.scope",
		pod + "/cri-containerd-" + docker(3) + ".scope", root,
	}
	// The places of dirs whose events pass.
	conditions := map[string][]int{
		`container == "abcdef000001"`:                                 {1},
		`container ~ "abcdef*2"`:                                      {2, 3},
		`container != "abcdef000001" && cgroup != "/"`:                {0, 2, 3, 4},
		`!(container[:6] == "abcdef")`:                                {0, 5},
		`pod == "` + podUID + `" || container == "abcdef000002"`:      {2, 3, 4},
		`cgroup == "/" && id < 1000`:                                  {5},
		`cgroup ~ "/` + name + `/docker-*" && !(container ~ "*0001")`: {2, 3},
	}
	if few {
		maps.DeleteFunc(conditions, func(where string, _ []int) bool {
			return !strings.Contains(where, "id < 1000") && !strings.Contains(where, "||")
		})
	}
	type counting struct {
		*attach.Aggregate
		where, how string
	}
	var all []counting
	open := func(where, how string, what attach.Aggregation) {
		a, err := attach.OpenAggregate(t.Context(), []string{"lat:start"}, what, &attach.Options{Where: where, Target: attach.Target{PIDs: []int{p.PID()}}})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		all = append(all, counting{a, where, how})
	}
	for where := range conditions {
		open(where, "in the kernel", attach.Count())
		open(where, "by records", attach.Count().By("word(path)"))
	}
	for _, dir := range dirs[1:5] {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
	}
	for _, a := range all {
		if err := a.Rescan(); err != nil {
			t.Fatal(err)
		}
	}
	for i, dir := range dirs {
		move(dir)
		for range 1 << i { // which tells them apart
			p.Do("start 1 x")
		}
	}
	move(root)
	for _, a := range all {
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		groups, err := a.Read()
		got, want := uint64(0), uint64(0)
		for _, g := range groups {
			got += g.Count
		}
		for _, i := range conditions[a.where] {
			want += 1 << i
		}
		if err != nil || got != want {
			t.Errorf("%s, %s: events %b, error %v, want %b", a.where, a.how, got, err, want)
		}
	}
}

// TestEventsOfContainers checks what events and files say of the control groups in which probes fired,
// and that files still say it when the groups are gone, also beside another file.
func TestEventsOfContainers(t *testing.T) {
	root := cgroups(t)
	top, pod := groupDirs(t, root)
	p := startChild(t, "latency")
	move := mover(t, p, root)
	p.Do("load")
	type words struct{ cgroup, container, pod string }
	const prefix = "abcdef012345"
	id := prefix + strings.Repeat("0", 52)
	in := []string{top, pod + "/crio-" + id + ".scope", root, top + "/libpod-" + id + ".scope", top}
	want := []words{}
	for i, dir := range in {
		w := words{cgroup: strings.TrimPrefix(dir, root)}
		if i == 2 {
			w.cgroup = "/"
		}
		if i == 1 {
			w.container, w.pod = prefix, podUID
		}
		if i == 3 {
			w.container = prefix
		}
		want = append(want, w)
	}
	target := attach.Target{PIDs: []int{p.PID()}}
	fire := func() {
		for i, dir := range in {
			if i == 1 || i == 3 {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			move(dir)
			p.Do("start %d x", i)
			p.Do("end %d x 0", i)
		}
		for _, i := range []int{1, 3} {
			if err := os.Remove(in[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	same := func(what string, events []event.Event) {
		t.Helper()
		var got []words
		for i := range events {
			got = append(got, words{events[i].Cgroup, events[i].Container, events[i].Pod})
		}
		if d := cmp.Diff(got, want, cmp.AllowUnexported(words{})); d != "" {
			t.Errorf("%s (-got +want):\n%s", what, d)
		}
	}
	var files []string
	for range 2 {
		s, err := attach.OpenEvents(t.Context(), []string{"lat:start"}, &attach.EventOptions{Groups: true}, &attach.Options{Target: target})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		defer s.Close()
		plain, err := attach.Open(t.Context(), []string{"lat:start"}, &attach.Options{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		pairs, err := attach.OpenPairs(t.Context(), "lat:start", "lat:end", &attach.PairOptions{Key: []string{"id"}, Groups: true}, &attach.Options{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		defer pairs.Close()
		r, err := attach.Record(t.Context(), []string{"lat:start"}, nil, &attach.Options{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		file, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		wrote := make(chan error)
		go func() { wrote <- r.Write(file, nil) }()
		fire()
		for _, stop := range []func() error{s.Stop, plain.Stop, pairs.Stop, r.Stop} {
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		files = append(files, file.Name())
		same("events", eventsOf(t, s.Events()))
		for _, ev := range eventsOf(t, plain.Events()) {
			if ev.Cgroup != "" {
				t.Errorf("an event has the control group %q, for which nobody asked", ev.Cgroup)
			}
		}
		var starts, ends []event.Event
		for pair, err := range pairs.All() {
			if err != nil {
				t.Fatal(err)
			}
			starts, ends = append(starts, pair.Start), append(ends, pair.End)
		}
		same("starts", starts)
		same("ends", ends)
	}
	saved := attach.Target{Recordings: files[:1]}
	s, err := attach.OpenEvents(t.Context(), []string{"lat:start"}, &attach.EventOptions{Groups: true}, &attach.Options{Target: saved})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	same("events of a file", eventsOf(t, s.Events()))
	saved.Recordings = files
	a, err := attach.OpenAggregate(t.Context(), []string{"lat:start"}, attach.Count().By("container"), &attach.Options{Target: saved, Where: `container ~ "` + prefix[:3] + `*" || cgroup == "/"`})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	<-a.Done()
	if d := cmp.Diff(counted(t, a, 0), map[string]uint64{prefix: 4, "": 2}); d != "" {
		t.Errorf("two files by container (-got +want):\n%s", d)
	}
}

func eventsOf(t *testing.T, all iter.Seq2[event.Event, error]) (events []event.Event) {
	t.Helper()
	for ev, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}
