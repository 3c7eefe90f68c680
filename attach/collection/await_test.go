package collection_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// nothingAt returns a collection of a program that does nothing at what a selector
// names.
func nothingAt(selector string) *ebpf.CollectionSpec {
	return &ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{"nothing": {
		Name: "nothing", Type: ebpf.Kprobe, SectionName: "usdt/" + selector, AttachTo: selector, License: "GPL",
		Instructions: kernel.EmptyProgram(),
	}}}
}

// TestAwaitFile checks that a program waits for a file that does not exist yet, and
// that processes it is restricted to need not have the file mapped yet.
func TestAwaitFile(t *testing.T) {
	library := needs.Compile(t, "../testdata/library.c", "gcc", "-O1", "-shared", "-fPIC", "-Wl,-z,relro")
	for what, pids := range map[string][]int{"all processes": nil, "one process": {os.Getpid()}} {
		path := filepath.Join(t.TempDir(), "late.so")
		c := newCollection(t, nothingAt(path+":library:tick"), &collection.Options{
			Target: attach.Target{PIDs: pids}, Rescan: tracee.RescanEvery(5 * time.Millisecond), Await: true,
		})
		if err := c.Attach(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if err := os.Link(library, path); err != nil {
			t.Fatal(err)
		}
		awaitSites(t, c, "nothing", 1)
	}
}

// TestNews checks that a program is attached to what processes declare long before a rescan.
func TestNews(t *testing.T) {
	for what, one := range map[string]bool{"all processes": false, "one process": true} {
		p := start(t, tracee.Self("typed"))
		o := &collection.Options{Rescan: time.Hour, Await: true}
		if one {
			o.Target.PIDs = []int{p.PID()}
		}
		c := newCollection(t, nothingAt("typed:bare"), o)
		if err := c.Attach(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		before := c.Plan("nothing").Attached()
		p.Do("load")
		awaitSites(t, c, "nothing", before+1)
	}
}

// TestLeaveUnloaded checks that a link which serves many processes ends with the file
// that it is on, when the last of them has unmapped it.
func TestLeaveUnloaded(t *testing.T) {
	var programs []*tracee.Program
	var pids []int
	for range 9 {
		p := start(t, tracee.Self("typed"))
		programs, pids = append(programs, p), append(pids, p.PID())
	}
	c := newCollection(t, nothingAt("typed:bare"), &collection.Options{
		Target: attach.Target{PIDs: pids}, Rescan: tracee.RescanEvery(5 * time.Millisecond), Await: true,
	})
	if err := c.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range programs[:2] {
		p.Do("load")
	}
	awaitSites(t, c, "nothing", 2)
	programs[0].Do("close")
	awaitSites(t, c, "nothing", 1)
	programs[1].Do("close")
	awaitSites(t, c, "nothing", 0)
}
