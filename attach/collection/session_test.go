package collection_test

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestSessionManyProcesses attaches a program for both the entry of a
// function and its return to more processes than get links of their own. One link
// serves them all. In any other process the program ends at the entry, and does
// not run when the function returns.
func TestSessionManyProcesses(t *testing.T) {
	spec := bpf.ReadSpec(t, needs.CompileBPF(t, "testdata/functions.bpf.c"))
	for name := range spec.Programs {
		if name != "both" {
			delete(spec.Programs, name)
		}
	}
	path := compile(t, "gcc", "-O2")
	programs, pids := tracee.StartMany(t, path, 12)
	stranger := start(t, exec.Command(path))
	stranger.Do("") // now it is mapped, for sure
	before := bpf.OwnLinks(t)
	const cookie = 1 << 40
	c, err := collection.New(t.Context(), spec, &collection.Options{Target: attach.Target{PIDs: pids}, Cookie: cookie})
	if errors.Is(err, ebpf.ErrNotSupported) {
		needs.Skip(t, "this kernel has no sessions: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, links := c.Plan("both").Attached(), len(bpf.NewLinks(t, before)); n != len(programs) || links != 1 {
		t.Errorf("%d sites by %d links, want %d by one", n, links, len(programs))
	}
	counting, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		t.Fatal(err)
	}
	defer counting.Close()
	check := func(when string, runs, sum uint64) {
		t.Helper()
		stats, err := c.Programs["both"].Stats()
		if err != nil {
			t.Fatal(err)
		}
		const both = uint32(5) // in the map
		var got uint64
		if err := c.Maps["seen"].Lookup(both, &got); err != nil {
			t.Fatal(err)
		}
		if stats.RunCount != runs || got != sum*cookie {
			t.Errorf("%s: %d runs and a sum of cookies of %#x, want %d and %#x", when, stats.RunCount, got, runs, sum*cookie)
		}
	}
	for _, p := range programs {
		p.Do("")
	}
	all := uint64(2 * len(programs))
	check("entries and returns", all, all)
	stranger.Do("")
	check("with those of another process", all+1, all)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	programs[0].Do("")
}
