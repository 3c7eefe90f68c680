package attach_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestStranded checks that tracing of a process goes on after its second thread
// has executed a program, which strands the links to the process.
func TestStranded(t *testing.T) {
	needs.C(t)
	path := filepath.Join(t.TempDir(), "reexec")
	needs.Run(t, "gcc", "-O1", "-o", path, "testdata/reexec.c", "-pthread")
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		for name, selector := range map[string]string{"mapped": "reexec:hit", "expected": path + ":reexec:hit"} {
			t.Run(kind.String()+"/"+name, func(t *testing.T) {
				p := start(t, exec.Command(path))
				s := open(t, selector, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Rescan: time.Hour, Await: true, Link: kind})
				var want []int64
				for n := int64(1); n <= 3; n++ {
					p.Do("%d", n)
					want = append(want, n)
					p.Do("0")
					if err := s.RescanHeld(); err != nil {
						t.Fatal(err)
					}
					if plan := s.Plan(); len(plan) != 1 || plan.Attached() != 1 { // late if the kernel's report was first
						t.Fatalf("plan after exec %d: %+v", n, plan)
					}
					if err := s.RescanHeld(); err != nil {
						t.Fatal(err)
					}
					if found := found(t, s); found != int(n)+1 {
						t.Fatalf("found %d sites until exec %d, want %d", found, n, n+1)
					}
				}
				p.Do("0") // the kernel reports what the program maps, without a scan
				await(t, "sites after exec 4", func() bool { return found(t, s) >= 5 })
				p.Do("4")
				var got []int64
				for _, ev := range drain(t, s) {
					got = append(got, ev.Args[0].Value.(int64))
				}
				if d := cmp.Diff(append(want, 4), got); d != "" {
					t.Errorf("events (-want +got):\n%s", d)
				}
				checkSum(t, s)
			})
		}
	}
}
