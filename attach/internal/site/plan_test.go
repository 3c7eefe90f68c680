package site

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// probe returns a probe at an offset of a file.
func probe(name string, offset uint64) reader.Probe {
	return reader.Probe{Note: notes.Note{Provider: "shop", Name: name}, Path: "/lib/shop.so", Offset: offset}
}

// TestPlanOf checks that a plan has the sites that were found, and copies of them.
func TestPlanOf(t *testing.T) {
	if p := PlanOf(nil); p != nil || p.Attached() != 0 {
		t.Errorf("a plan of nothing has %d sites", len(p))
	}
	file := procfs.ID{Inode: 5}
	p := PlanOf(discover.Sites{{{Probe: probe("sold", 16), PID: 7, File: file}}, {{Probe: probe("returned", 32)}}})
	if len(p) != 2 || p[0].Owner() != (discover.Owner{File: file, PID: 7}) || p[1].Probe.Name != "returned" {
		t.Fatalf("got %+v", p)
	}
	p[0].Shared, p[0].Attached = true, true
	if p[0].Owner() != (discover.Owner{File: file}) || p.Attached() != 1 {
		t.Errorf("shared: owner %v, %d attached", p[0].Owner(), p.Attached())
	}
	p[0].Notes = []string{"a"}
	seen := p[0].Snapshot()
	p[0].Notes[0] = "b"
	if seen.Notes[0] != "a" {
		t.Error("a snapshot changes with the site")
	}
}

// TestProcess checks which sites fire in one process only.
func TestProcess(t *testing.T) {
	for open, want := range map[string]int{
		"": 0, "/proc/7/map_files/1-2": 7, "/proc/7/fd/3": 7, "/proc/7/root/lib/shop.so": 0, "/proc/self/fd/3": 0, "/proc/7": 0, "/lib/shop.so": 0, "/proc/7/fd/3/x": 0,
	} {
		s := Site{Report: Report{Probe: reader.Probe{OpenPath: open}}}
		if got := s.Process(); got != want {
			t.Errorf("%q: process %d, want %d", open, got, want)
		}
	}
	if got := (&Site{Report: Report{PID: 9}}).Process(); got != 9 {
		t.Errorf("a site of process 9 fires in %d", got)
	}
}

// TestRefusals checks what is said of plans of which nothing is attached.
func TestRefusals(t *testing.T) {
	function := probe("open", 0)
	function.Kind = reader.Uprobe
	refused := errors.New("the kernel refused it")
	gone := fmt.Errorf("gone: %w", os.ErrNotExist)
	for _, test := range []struct {
		plan Plan
		err  string
		gone bool
	}{
		{nil, "no site could be attached to", true},
		{Plan{{Report: Report{Probe: probe("sold", 16), Offset: 16, Reason: refused}}}, "no site could be attached to: shop:sold at 0x10: the kernel refused it", false},
		{Plan{{}, {Report: Report{Probe: function, Offset: 32, Reason: gone}}}, "no site could be attached to: uprobe:shop:open at 0x20: gone: file does not exist (and 1 others)", false},
		{Plan{{Report: Report{Reason: gone}}, {Report: Report{Reason: os.ErrProcessDone}}}, "no site could be attached to", true},
	} {
		if err := test.plan.Refused(); !errors.Is(err, ErrNoSite) || !strings.HasPrefix(err.Error(), test.err) || test.plan.Gone() != test.gone {
			t.Errorf("%v, gone %t; want %q, %t", err, test.plan.Gone(), test.err, test.gone)
		}
	}
	p := Plan{{}, {Report: Report{Attached: true}}, {Report: Report{Reason: gone}}}
	if p.Refuse(refused); p[0].Reason != refused || p[1].Reason != nil || p[2].Reason != gone {
		t.Errorf("refused: %v, %v, %v", p[0].Reason, p[1].Reason, p[2].Reason)
	}
	for c, want := range map[Carrier]string{NoCarrier: "nothing", ByThread: "thread", ByGoroutine: "goroutine", ByFrame: "call"} {
		if c.String() != want {
			t.Errorf("carrier %d is %v, want %s", c, c, want)
		}
	}
}
