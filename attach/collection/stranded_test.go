package collection_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestStranded checks that a program goes on in a process whose second thread has
// executed a program, which strands the links to the process. The kernel reports
// that the process maps files then, so that no scan has to find it.
func TestStranded(t *testing.T) {
	needs.C(t)
	path := filepath.Join(t.TempDir(), "reexec")
	needs.Run(t, "gcc", "-O1", "-o", path, "../testdata/reexec.c", "-pthread")
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		for name, selector := range map[string]string{"mapped": "reexec:hit", "expected": path + ":reexec:hit"} {
			t.Run(kind.String()+"/"+name, func(t *testing.T) {
				p := start(t, exec.Command(path))
				c := newCollection(t, countingAt(selector), &collection.Options{
					Target: attach.Target{PIDs: []int{p.PID()}}, Rescan: time.Hour, Await: true, Link: kind,
				})
				if err := c.Attach(t.Context()); err != nil {
					t.Fatal(err)
				}
				awaitSites(t, c, "counting", 1)
				for range 3 {
					before := counted(t, c)
					p.Do("1")
					if n := counted(t, c) - before; n != 1 {
						t.Fatalf("the program has run %d times, want once", n)
					}
					p.Do("0")
					for end := time.Now().Add(time.Minute); counted(t, c) == before+1; p.Do("1") {
						if time.Now().After(end) {
							t.Fatalf("after exec the program runs no more; plan: %+v", c.Plan("counting"))
						}
					}
				}
				awaitSites(t, c, "counting", 1) // the site may fire before the plan has it
				if plan := c.Plan("counting"); len(plan) != 1 {
					t.Errorf("plan %+v, want one site", plan)
				}
			})
		}
	}
}

// countingAt returns a collection of a program that counts, in the map runs, how often
// it runs at what a selector names.
func countingAt(selector string) *ebpf.CollectionSpec {
	return &ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{"runs": {Name: "runs", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}},
		Programs: map[string]*ebpf.ProgramSpec{"counting": {
			Name: "counting", Type: ebpf.Kprobe, SectionName: "usdt/" + selector, AttachTo: selector, License: "GPL",
			Instructions: asm.Instructions{
				asm.LoadMapValue(asm.R1, 0, 0).WithReference("runs"),
				asm.Mov.Imm(asm.R0, 1),
				asm.AddAtomic.Mem(asm.R1, asm.R0, asm.DWord, 0),
				asm.Mov.Imm(asm.R0, 0),
				asm.Return(),
			},
		}},
	}
}

// counted returns how often the program of countingAt has run.
func counted(t testing.TB, c *collection.Collection) (n uint64) {
	t.Helper()
	if err := c.Maps["runs"].Lookup(uint32(0), &n); err != nil {
		t.Fatal(err)
	}
	return n
}
