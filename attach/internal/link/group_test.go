package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/privilege"
)

// refusing stands in the kernel's place: it refuses sites by their offsets, and counts what
// it was asked. Its descriptors are those of a file that is always there.
type refusing struct {
	refuse map[uint64]error // sites; the whole link for one of them
	events map[uint64]error // perf events
	asked  []string
}

func (k *refusing) descriptor() (int, error) {
	return unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

func (k *refusing) LinkMulti(g *Group, sites []int) (int, error) {
	k.asked = append(k.asked, fmt.Sprint(sites))
	for _, i := range sites {
		if err := k.refuse[g.Sites[i].Offset]; err != nil {
			return -1, err
		}
	}
	return k.descriptor()
}

func (k *refusing) LinkKernel(g *Group, sites []int) (int, error) { return k.LinkMulti(g, sites) }

func (k *refusing) OpenKprobe(g *Group, s *Site) (int, error) { return k.OpenUprobe(g, s) }

func (k *refusing) OpenTracepoint(g *Group, s *Site) (int, error) { return k.OpenUprobe(g, s) }

func (k *refusing) OpenUprobe(_ *Group, s *Site) (int, error) {
	k.asked = append(k.asked, fmt.Sprintf("open %d", s.Offset))
	if err := k.events[s.Offset]; err != nil {
		return -1, err
	}
	return k.descriptor()
}

func (k *refusing) LinkEvent(_ *Group, event int, cookie uint64) (int, error) {
	k.asked = append(k.asked, fmt.Sprintf("link %d", cookie))
	if err := k.refuse[cookie]; err != nil {
		return -1, err
	}
	return k.descriptor()
}

// groupOf returns a group of n sites, whose offsets and cookies are 1 to n.
func groupOf(k *refusing, n int) *Group {
	g := &Group{Path: "/lib/x.so", Calls: k, Ended: func() bool { return false }}
	for i := range n {
		g.Sites = append(g.Sites, Site{Offset: uint64(i + 1), Cookie: uint64(i + 1)})
	}
	return g
}

// closeAll closes links, each of which must be open.
func closeAll(t *testing.T, links []Link) {
	t.Helper()
	for _, l := range links {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// TestHalving checks that sites which the kernel refuses are found by halving, and that
// the others are attached to by few links.
func TestHalving(t *testing.T) {
	for _, test := range []struct {
		name    string
		refused map[uint64]error
		opcodes map[int]string // by site
		links   int
		asked   int
		reasons map[int]string // by site; "" for any
	}{
		{"none refused", nil, nil, 1, 1, nil},
		{"one of eight", map[uint64]error{5: unix.EINVAL}, nil, 3, 7, map[int]string{4: "another tracer may hold it"}},
		{"all", map[uint64]error{1: unix.ENOEXEC, 2: unix.ENOEXEC, 3: unix.ENOEXEC, 4: unix.ENOEXEC, 5: unix.ENOEXEC, 6: unix.ENOEXEC, 7: unix.ENOEXEC, 8: unix.ENOEXEC}, nil, 0, 15,
			map[int]string{0: "does not know the instruction", 7: "does not know the instruction"}},
		{"an opcode", map[uint64]error{2: enotsupp, 8: enotsupp}, map[int]string{1: "f4", 7: "f4", 3: "90"}, 3, 7, map[int]string{1: "cannot probe the instruction", 7: "cannot probe the instruction"}},
		{"something else", map[uint64]error{8: unix.EPIPE}, nil, 3, 7, map[int]string{7: "broken pipe"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := &refusing{refuse: test.refused}
			g := groupOf(k, 8)
			for i, opcode := range test.opcodes {
				g.Sites[i].Opcode = opcode
			}
			links, refused, err := g.Attach(t.Context(), Multi)
			if err != nil {
				t.Fatal(err)
			}
			defer closeAll(t, links)
			if len(links) != test.links || len(k.asked) != test.asked {
				t.Errorf("%d links, the kernel was asked %d times (%s), want %d and %d", len(links), len(k.asked), k.asked, test.links, test.asked)
			}
			for i, err := range refused {
				if (err != nil) != (test.refused[uint64(i+1)] != nil) {
					t.Errorf("site %d: %v, want an error: %t", i, err, test.refused[uint64(i+1)] != nil)
				}
				if want := test.reasons[i]; want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("site %d: %v, want %q", i, err, want)
				}
			}
		})
	}
}

// TestWhole checks errors that concern all sites: what they say, and that the kernel is
// asked once.
func TestWhole(t *testing.T) {
	for _, kind := range []Kind{Multi, Perf} {
		for _, test := range []struct {
			err   error
			ended bool
			is    error
			says  string
		}{
			{unix.EPERM, false, os.ErrPermission, "attach to /lib/x.so"},
			{unix.ENOENT, false, os.ErrNotExist, "/lib/x.so is gone"},
			{unix.ESRCH, true, os.ErrNotExist, "process 7 has ended"},
			{unix.EMFILE, false, unix.EMFILE, "attach to /lib/x.so: this process has as many files open as it may"},
			{unix.ENOMEM, false, unix.ENOMEM, "attach to /lib/x.so: "},
			{ebpf.ErrNotSupported, false, ebpf.ErrNotSupported, "attach to /lib/x.so: "},
		} {
			k := &refusing{refuse: map[uint64]error{1: test.err}, events: map[uint64]error{1: test.err}}
			g := groupOf(k, 3)
			if test.ended {
				g.PID, g.Ended = 7, func() bool { return true }
			}
			links, refused, err := g.Attach(t.Context(), kind)
			if len(links) != 0 || len(k.asked) != 1 || !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, %v: %d links, asked %s, error %v, want %q", kind, test.err, len(links), k.asked, err, test.says)
			}
			for i, why := range refused {
				if !errors.Is(why, test.is) {
					t.Errorf("%v, %v: site %d: %v", kind, test.err, i, why)
				}
			}
		}
	}
}

// TestPerf checks that each site has an event, that what is refused takes no other site
// along, and that no descriptor stays open.
func TestPerf(t *testing.T) {
	k := &refusing{events: map[uint64]error{2: unix.EINVAL}, refuse: map[uint64]error{3: enotsupp}}
	g := groupOf(k, 5)
	g.Sites[4].RefCtrOffset = maxPerfSemaphore + 1
	links, refused, err := g.Attach(t.Context(), Perf)
	if err != nil || len(links) != 2 {
		t.Fatalf("%d links, %v, want 2", len(links), err)
	}
	want := []string{"open 1", "link 1", "open 2", "open 3", "link 3", "open 4", "link 4"}
	if !slices.Equal(k.asked, want) {
		t.Errorf("the kernel was asked %q, want %q", k.asked, want)
	}
	var far *FarError
	if refused[0] != nil || refused[1] == nil || !errors.Is(refused[2], enotsupp) || refused[3] != nil || !errors.As(refused[4], &far) || !strings.Contains(far.Error(), "4 GiB") {
		t.Errorf("refused: %v", refused)
	}
	for _, l := range links {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
		rest, ok := l.Rest()
		if !ok {
			t.Error("nothing is left of a perf event's link")
		}
		if err := rest.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err == nil {
			t.Error("the link was still open")
		}
	}
}

// TestEndedMeanwhile checks that a link made for a process that has ended is closed: it
// may be for another process.
func TestEndedMeanwhile(t *testing.T) {
	for _, kind := range []Kind{Multi, Perf} {
		g := groupOf(&refusing{}, 2)
		g.PID, g.Ended = 7, func() bool { return true }
		links, _, err := g.Attach(t.Context(), kind)
		if len(links) != 0 || !errors.Is(err, os.ErrNotExist) || err.Error() != "process 7 has ended" {
			t.Errorf("%v: %d links, %v", kind, len(links), err)
		}
	}
}

// TestInterrupted checks that nothing is asked when the context is done.
func TestInterrupted(t *testing.T) {
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for _, kind := range []Kind{Multi, Perf} {
		k := &refusing{}
		if links, refused, err := groupOf(k, 2).Attach(ctx, kind); err != cause || refused[1] != cause || len(links)+len(k.asked) != 0 {
			t.Errorf("%v: %d links, %v, %v, asked %s", kind, len(links), refused, err, k.asked)
		}
	}
}

// TestNoSuchPath checks the real calls as far as they go without privileges.
func TestNoSuchPath(t *testing.T) {
	if _, err := (&multi{path: "a\x00b"}).create(); err == nil {
		t.Error("a path with a NUL was passed on to uprobe_multi")
	}
	if _, err := openUprobe("a\x00b", 0, 0, 0, true); err == nil {
		t.Error("a path with a NUL was passed on to perf_event_open")
	}
	g := &Group{Open: "/", Prog: nil, Sites: []Site{{Offset: 1}}}
	if fd, err := (kernelCalls{}).OpenUprobe(g, &g.Sites[0]); err == nil {
		unix.Close(fd)
		t.Error("a uprobe is in a directory")
	}
	null, err := (&refusing{}).descriptor()
	if err != nil {
		t.Fatal(err)
	}
	l := Link{fd: null, event: -1}
	if l.Stranded() {
		t.Error("a descriptor that is no link is stranded")
	}
	closeAll(t, []Link{l})
	if _, ok := l.Rest(); ok {
		t.Error("something is left of a link without a perf event")
	}
	if Refuses([]byte{0x90, 0xc3}) {
		t.Error("the kernel refuses a nop")
	}
	for _, filtered := range []bool{false, true} {
		kind, err := Choose(Auto, filtered)
		var missing *privilege.Error
		if err == nil && kind != Multi && kind != Perf || err != nil && !errors.As(err, &missing) && !errors.Is(err, ebpf.ErrNotSupported) {
			t.Errorf("chosen: %v, %v", kind, err)
		}
		if err == nil && (kind.ProgramType() != ebpf.Kprobe || kind.Slow() != (kind == Perf) || (kind.AttachType() == ebpf.AttachNone) != (kind == Perf)) {
			t.Errorf("%v: programs of %v for %v, slow %t", kind, kind.ProgramType(), kind.AttachType(), kind.Slow())
		}
	}
	if err := Sessions.Require(); err != nil && !errors.Is(err, os.ErrPermission) && !errors.Is(err, ebpf.ErrNotSupported) {
		t.Errorf("sessions: %v", err)
	}
}
