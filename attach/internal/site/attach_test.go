package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/probed"
	"github.com/go-usdt/usdt/reader"
)

// kernel stands in the kernel's place.
type kernel struct {
	refuse map[uint64]error // sites, by their offsets

	mu    sync.Mutex
	links int
}

func (k *kernel) link(offsets ...uint64) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, o := range offsets {
		if err := k.refuse[o]; err != nil {
			return -1, err
		}
	}
	k.links++
	return unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

func (k *kernel) LinkMulti(g *link.Group, sites []int) (int, error) {
	var offsets []uint64
	for _, i := range sites {
		offsets = append(offsets, g.Sites[i].Offset)
	}
	return k.link(offsets...)
}

func (k *kernel) LinkKernel(g *link.Group, sites []int) (int, error) { return k.LinkMulti(g, sites) }

func (k *kernel) OpenKprobe(_ *link.Group, s *link.Site) (int, error) { return k.link(s.Offset) }

func (k *kernel) OpenTracepoint(_ *link.Group, s *link.Site) (int, error) { return k.link(s.Offset) }

func (k *kernel) OpenUprobe(_ *link.Group, s *link.Site) (int, error) { return k.link(s.Offset) }

func (k *kernel) LinkEvent(*link.Group, int, uint64) (int, error) { return k.link() }

// planned returns a plan of n sites in each of the files with those inodes.
func planned(n int, inodes ...uint64) (p Plan) {
	for _, inode := range inodes {
		for i := range n {
			s := Site{Report: Report{Probe: probe(fmt.Sprint("n", i), uint64(inode*100)+uint64(i)), Path: fmt.Sprint("/lib/", inode), Offset: uint64(inode*100) + uint64(i)}, file: procfs.ID{Inode: inode}}
			p = append(p, s)
		}
	}
	return p
}

// attachTo attaches to a plan's sites by links of a kind.
func attachTo(t *testing.T, k *kernel, p Plan, kind link.Kind) (*Attachment, error) {
	t.Helper()
	g := Groups{Procs: &process.Set{}}
	for i := range p {
		g.Add(&p[i], nil, uint64(i))
	}
	for _, gr := range g.All {
		gr.Calls = k
	}
	return Attach(t.Context(), p, g.All, kind)
}

// TestGroups checks which sites share a link.
func TestGroups(t *testing.T) {
	o := probed.Object{Sites: []probed.Site{{Provider: "p", Name: "n"}}}
	path := o.Write(t, "lib.so")
	objects := operand.Objects{}
	defer objects.Close()
	if _, err := objects.Open(path); err != nil {
		t.Fatal(err)
	}
	g := Groups{Objects: objects, Procs: &process.Set{}, Session: true}
	progs := []*ebpf.Program{{}, {}}
	sites := []Site{
		{Report: Report{Path: path}}, {Report: Report{Path: path, PID: 7}}, {Report: Report{Path: path, PID: 8}},
		{Report: Report{Path: path, Probe: reader.Probe{Kind: reader.Uretprobe}}}, {Report: Report{Path: path, PID: 9}, Shared: true},
		{Report: Report{Path: "/another"}}, {Report: Report{Path: path}, file: procfs.ID{Inode: 1}}, {Report: Report{Path: path}},
	}
	var got []string
	for i := range sites {
		g.Add(&sites[i], progs[i/7], 0)
	}
	for _, gr := range g.All {
		if opened := strings.HasPrefix(gr.Open, "/proc/self/fd/"); opened != (gr.Path == path) || !gr.Session {
			t.Errorf("%s is attached to by %s", gr.Path, gr.Open)
		}
		got = append(got, fmt.Sprintf("%d %d %t", len(gr.sites), gr.PID, gr.Returns))
	}
	if want := "2 0 false,1 7 false,1 8 false,1 0 true,1 0 false,1 0 false,1 0 false"; strings.Join(got, ",") != want {
		t.Errorf("groups %s, want %s", strings.Join(got, ","), want)
	}
}

// TestAttach attaches to sites, looks at them, retires a file and detaches.
func TestAttach(t *testing.T) {
	for _, kind := range []link.Kind{link.Multi, link.Perf} {
		k := &kernel{refuse: map[uint64]error{101: unix.EINVAL}}
		a, err := attachTo(t, k, planned(3, 1, 2, 3), kind)
		if err != nil {
			t.Fatal(err)
		}
		released := 0
		a.WhenReleased(func() { released++ })
		attached := func() (n int) {
			a.LookAt(0, func(p Plan) { n = p.Attached() })
			return n
		}
		if n := attached(); n != 8 {
			t.Errorf("%v: %d sites are attached to, want all but one of nine", kind, n)
		}
		a.LookAt(4, func(p Plan) {
			if len(p) != 5 || p[0].Offset != 201 {
				t.Errorf("%v: the later sites are %d, the first at %d", kind, len(p), p[0].Offset)
			}
		})
		if used := a.Programs(); len(used) != 1 {
			t.Errorf("%v: %d programs are used", kind, len(used))
		}
		links := len(a.links)
		closed := make(chan error, 1)
		a.Leave([]discover.Owner{{File: procfs.ID{Inode: 2}}}, func(err error) { closed <- err })
		a.Left(planned(2))
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if n := attached(); n != 5 || len(a.links) >= links {
			t.Errorf("%v: after a file is gone, %d sites and %d links of %d", kind, n, len(a.links), links)
		}
		more, err := attachTo(t, k, planned(1, 4), kind)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Adopt(more); err != nil {
			t.Error(err)
		}
		if n := attached(); n != 6 {
			t.Errorf("%v: %d sites with the adopted ones, want 6", kind, n)
		}
		if known := a.LookAt(9, func(p Plan) {
			if len(p) != 1 || p[0].Path != "/lib/4" {
				t.Errorf("%v: the newest are %d", kind, len(p))
			}
		}); known != 10 {
			t.Errorf("%v: %d sites are known, want 10", kind, known)
		}
		if err := errors.Join(a.Close(), a.Close(), a.Wait(t.Context())); err != nil || released != 1 || a.Pending() != 0 || a.Silent() != 0 {
			t.Errorf("%v: closed with %v, released %d times, %d events are left", kind, err, released, a.Pending())
		}
		a.WhenReleased(func() { released++ })
		if released != 2 {
			t.Error("what is released later is not called")
		}
	}
}

// TestAttachRefused checks the errors of attaching to nothing.
func TestAttachRefused(t *testing.T) {
	for _, test := range []struct {
		err  error
		is   error
		says string
	}{{unix.EINVAL, ErrNoSite, "another tracer"}, {unix.EPERM, os.ErrPermission, "attach to /lib/"}, {unix.ENOMEM, unix.ENOMEM, "attach to /lib/"}} {
		p := planned(1, 1, 2, 3)
		k := &kernel{refuse: map[uint64]error{100: test.err, 200: test.err, 300: test.err}}
		if _, err := attachTo(t, k, p, link.Multi); !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) || p.Attached() != 0 {
			t.Errorf("%v: error %v, want %v that says %q", test.err, err, test.is, test.says)
		}
		for i := range p {
			if !errors.Is(p[i].Reason, test.err) {
				t.Errorf("%v: site %d: %v", test.err, i, p[i].Reason)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := Groups{}
	p := planned(1, 1)
	g.Add(&p[0], nil, 0)
	g.All[0].Calls = &kernel{}
	if _, err := Attach(ctx, p, g.All, link.Multi); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestHalted checks that programs are stopped before links are closed, and that the kernel's
// slow closing is not waited for.
func TestHalted(t *testing.T) {
	a, err := attachTo(t, &kernel{}, planned(1, 1, 2, 3), link.Multi)
	if err != nil {
		t.Fatal(err)
	}
	halted := 0
	a.Halt, a.Slow = func() error { halted++; return nil }, true
	if err := errors.Join(a.Close(), a.Wait(t.Context())); err != nil || halted != 1 || a.Pending() != 0 {
		t.Errorf("%v, halted %d times, %d links are left", err, halted, a.Pending())
	}
	broken := errors.New("broken")
	if a, err = attachTo(t, &kernel{}, planned(1, 1), link.Multi); err != nil {
		t.Fatal(err)
	}
	a.Halt = func() error { return broken }
	if err := a.Close(); !errors.Is(err, broken) {
		t.Errorf("%v, want the error of halting", err)
	}
}

// TestDrop leaves sites out of a plan.
func TestDrop(t *testing.T) {
	a := Unattached(planned(2, 1, 2))
	a.Drop(func(s *Site) bool { return s.Path == "/lib/1" })
	a.LookAt(0, func(p Plan) {
		if len(p) != 2 || p[0].Path != "/lib/2" {
			t.Errorf("left are %d sites", len(p))
		}
	})
	a.Leave(nil, func(error) { t.Error("nothing was left") })
}

// TestMiscounted checks what is said where the kernel's count of a semaphore cannot be kept.
func TestMiscounted(t *testing.T) {
	for _, pid := range []int{0, 7} {
		p := planned(2, 1)
		p[0].Probe.SemaphoreErr, p[0].Probe.SemaphoreOffset = reader.ErrMiscounted, 16
		p[1].Probe.SemaphoreOffset = 32
		g := Groups{Procs: &process.Set{}}
		for i := range p {
			p[i].PID = pid
			g.Add(&p[i], nil, 0)
		}
		if got := countedIn(g.All); len(got) != 0 {
			t.Errorf("%d files without an object are counted in", len(got))
		}
		g.All[0].object = &operand.Object{}
		all := countedIn(g.All)
		if len(all) != 1 || !all[0].miscounted || len(all[0].offsets) != 2 || len(all[0].sites) != 2 {
			t.Fatalf("counted in %+v", all)
		}
		all[0].leave(errors.New("no program"))
		if refused := p[0].Reason != nil; refused != (pid == 0) || (len(p[0].Notes) == 1) != (pid != 0) || p[1].Reason != nil {
			t.Errorf("process %d: reason %v, notes %q; the other: %v", pid, p[0].Reason, p[0].Notes, p[1].Reason)
		}
		if left := remaining(g.All); (len(left) == 1) != true || len(left[0].sites) != map[int]int{0: 1, 7: 2}[pid] {
			t.Errorf("process %d: %d groups remain", pid, len(left))
		}
	}
}
