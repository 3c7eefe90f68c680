package site

import (
	"debug/elf"
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestSharingKeepsNoPlan checks that links which serve several processes give sites of
// later plans what they need, and do not keep the plan that they were made for in memory.
func TestSharingKeepsNoPlan(t *testing.T) {
	const path = "/proc/self/exe"
	objects := operand.Objects{}
	defer objects.Close()
	if _, err := objects.Open(path); err != nil {
		t.Fatal(err)
	}
	sharing := NewSharing(&process.Set{PIDs: make([]int, ManyProcesses+1)})
	planOf := func(pid int) Plan {
		p := reader.Probe{Note: notes.Note{Provider: "p", Name: "n"}, Path: path, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, Offset: 64}
		var found discover.Sites
		found = append(found, []discover.Site{{Probe: p, PID: pid}})
		plan := PlanOf(found)
		plan[0].Path, plan[0].Offset = path, p.Offset
		return plan
	}
	refused := errors.New("the kernel refused it")
	collected := make(chan struct{})
	func() {
		plan := append(make(Plan, 0, 1000), planOf(1)...)
		runtime.SetFinalizer(&plan[0], func(*Site) { close(collected) })
		if n := len(sharing.Share(plan, objects)); n != 0 {
			t.Fatalf("%d sites follow none", n)
		}
		plan[0].Reason = refused
		plan[0].Notes = append(plan[0].Notes, "a note of attaching")
		sharing.Follow(plan, nil)
	}()
	for i := 0; ; i++ {
		runtime.GC()
		select {
		case <-collected:
		default:
			if i == 100 {
				t.Error("the plan is kept in memory")
				break
			}
			continue
		}
		break
	}
	later := planOf(os.Getpid())
	followers := sharing.Share(later, objects)
	sharing.Follow(later, followers)
	if s := &later[0]; len(followers) != 1 || s.Reason != refused || s.Attached || len(s.Notes) != 2 {
		t.Errorf("the later site: follows %d, attached %t, reason %v, notes %q", len(followers), s.Attached, s.Reason, s.Notes)
	}
}
