package collection_test

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestSkeleton compares what a collection does with the sections of an object with what libbpf
// does: which programs it attaches, leaves and cannot attach, and how often each runs.
func TestSkeleton(t *testing.T) {
	if library, _ := filepath.Glob("/usr/lib/*/libbpf.so*"); len(library) == 0 {
		needs.Skip(t, "needs libbpf.so.1")
	}
	path := compile(t, "gcc", "-O2", "-DSEMAPHORES")
	object := needs.CompileBPF(t, "testdata/skeleton.bpf.c", fmt.Sprintf("-DPATH=%q", path))
	attacher := filepath.Join(t.TempDir(), "skeleton")
	needs.Run(t, "gcc", "-o", attacher, "testdata/skeleton.c", "-lbpf")
	p := start(t, exec.Command(path))

	skeleton := start(t, exec.Command(attacher, object))
	want, order := map[string]string{}, []string{}
	for line := skeleton.Line(); line != "ready"; line = skeleton.Line() {
		name, what, _ := strings.Cut(line, " ")
		want[name] = what
		order = append(order, name)
	}
	skeleton.Do("%d", p.PID())
	p.Do("")
	p.Do("") // it has read again by now
	wantSeen := skeleton.Do("0")
	if err := skeleton.End(); err != nil {
		t.Error(err)
	}

	spec := bpf.ReadSpec(t, object)
	c := newCollection(t, spec, nil)
	err := c.Attach(t.Context())
	var failed []string
	for line := range strings.Lines(fmt.Sprint(err)) {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "attach "), ": ")
		failed = append(failed, strings.Split(names, ", ")...)
	}
	for _, name := range order {
		links, err := c.Links(name)
		if err != nil {
			t.Errorf("links of %s: %v", name, err)
		}
		got := "left"
		if slices.Contains(failed, name) {
			got = "failed"
		} else if len(links) > 0 {
			got = "attached"
		}
		if got != want[name] {
			t.Errorf("%s in section %s is %s, by libbpf it is %s", name, spec.Programs[name].SectionName, got, want[name])
		}
		for _, l := range links {
			l.Close()
		}
	}
	if err := c.Variables["pid"].Set(int32(p.PID())); err != nil {
		t.Fatal(err)
	}
	p.Do("")
	p.Do("") // it has read again by now
	var seen [32]uint64
	if err := c.Variables["seen"].Get(&seen); err != nil {
		t.Fatal(err)
	}
	for i, n := range strings.Fields(wantSeen) {
		var want uint64
		fmt.Sscan(n, &want)
		if system := i >= 16; seen[i] != want && !system || (seen[i] > 0) != (want > 0) {
			t.Errorf("%s ran %d times, by libbpf %d times", order[i], seen[i], want)
		}
	}

	links, err := c.Links("each_task")
	if err != nil || len(links) != 1 {
		t.Fatalf("links of an iterator: %v, %v", links, err)
	}
	defer links[0].Close()
	it, err := links[0].(*link.Iter).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	if _, err := io.Copy(io.Discard, it); err != nil {
		t.Error(err)
	}
}
