package maplog

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

func openLog(t *testing.T, pids []int) *Log {
	l, err := Open(pids)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		needs.Skip(t, "needs CAP_PERFMON: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	l.Follow(func(int) {})
	return l
}

// TestEnded checks that it is known what a process had mapped that has ended: this test's own
// program, as the program itself says.
func TestEnded(t *testing.T) {
	if os.Getenv("MAPLOG_ENDED") != "" {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := openLog(t, nil)
	cmd := exec.Command(self, "-test.run=^TestEnded$")
	cmd.Env = append(os.Environ(), "MAPLOG_ENDED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pid := cmd.Process.Pid
	if n, changes := l.State(pid); n != 2 || changes == 0 {
		t.Errorf("%d images, of the fork and of what was executed: want 2", n)
	}
	images := l.Images(pid)
	if len(images) == 0 || !images[0].Whole {
		t.Fatalf("images %+v, want a whole one", images)
	}
	space, err := symbols.NewResolver(nil).Process(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	find := func(modules []symbols.Module) (found symbols.Module) {
		i := slices.IndexFunc(modules, func(m symbols.Module) bool { return m.Path == self })
		if i < 0 {
			t.Fatalf("%s is not among %+v", self, modules)
		}
		found = modules[i]
		found.End -= found.Start
		found.Start = 0
		return found
	}
	if d := cmp.Diff(find(space.Modules()), find(images[0].Modules)); d != "" {
		t.Errorf("(-this +ended):\n%s", d)
	}
}

// TestOnly checks that nothing is known of processes that were not asked for.
func TestOnly(t *testing.T) {
	l := openLog(t, []int{os.Getpid()})
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n, _ := l.State(cmd.Process.Pid); n != 0 {
		t.Errorf("%d images of a process that was not asked for", n)
	}
	l.Close()
	if n, _ := l.State(os.Getpid()); n != 0 {
		t.Errorf("%d images of a log that is closed, of a process that mapped nothing", n)
	}
}

// TestRegions checks what is left of mappings that others take the place of.
func TestRegions(t *testing.T) {
	m := func(start, end, offset, at uint64) mapping {
		return mapping{start: start, end: end, offset: offset, at: at}
	}
	for _, test := range []struct{ maps, want []mapping }{
		{[]mapping{m(10, 20, 0, 2), m(10, 20, 5, 1)}, []mapping{m(10, 20, 0, 2)}},
		{[]mapping{m(10, 40, 100, 1), m(20, 30, 7, 2)}, []mapping{m(10, 20, 100, 1), m(20, 30, 7, 2), m(30, 40, 120, 1)}},
		{[]mapping{m(30, 40, 0, 1), m(10, 20, 0, 1)}, []mapping{m(10, 20, 0, 1), m(30, 40, 0, 1)}},
		{[]mapping{m(10, 20, 0, 1), m(15, 25, 0, 2)}, []mapping{m(10, 15, 0, 1), m(15, 25, 0, 2)}},
	} {
		if d := cmp.Diff(test.want, regions(test.maps), cmp.AllowUnexported(mapping{}, file{})); d != "" {
			t.Errorf("%v (-want +got):\n%s", test.maps, d)
		}
	}
}
