package maplog

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

func openLog(t *testing.T, pids []int) *Log {
	l, err := Open(pids, nil)
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
	if s := l.State(pid); s.Images != 2 || s.Changes == 0 {
		t.Errorf("%d images, of the fork and of what was executed: want 2", s.Images)
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
	if s := l.State(cmd.Process.Pid); s.Images != 0 {
		t.Errorf("%d images of a process that was not asked for", s.Images)
	}
	l.Close()
	if s := l.State(os.Getpid()); s.Images != 0 {
		t.Errorf("%d images of a log that is closed, of a process that mapped nothing", s.Images)
	}
}

// TestMembers checks that a log of members knows what they start, and what these start, and nothing else.
func TestMembers(t *testing.T) {
	parent := exec.Command("sh", "-c", "read x; sh -c 'sh -c :; echo $$ $PPID'; read x")
	in, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := parent.StdoutPipe()
	if err == nil {
		err = parent.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Wait()
	defer in.Close()
	l, err := Open(nil, func() ([]int, error) { return []int{parent.Process.Pid}, nil })
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		needs.Skip(t, "needs CAP_PERFMON: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stranger := exec.Command("true")
	if err := stranger.Run(); err != nil {
		t.Fatal(err)
	}
	var child, of int
	in.Write([]byte("\n"))
	if _, err := fmt.Fscan(out, &child, &of); err != nil || of != parent.Process.Pid {
		t.Fatalf("a child of process %d, want one of %d; error %v", of, parent.Process.Pid, err)
	}
	if s := l.State(child); s.Images != 2 {
		t.Errorf("%d images of a child, of the fork and of what was executed: want 2", s.Images)
	}
	if s := l.State(stranger.Process.Pid); s.Images != 0 {
		t.Errorf("%d images of a stranger", s.Images)
	}
	if n := len(l.lives); n != 2 && n != 3 { // the grandchild's last records may be read later
		t.Errorf("%d processes are known, want the child and the grandchild", n)
	}
	for range maxOnly { // ends if the ended are forgotten
		l.of(&happening{what: unix.PERF_RECORD_FORK, parent: parent.Process.Pid, pid: 1<<20 + len(l.only)})
	}
	if n := len(l.only); n > maxOnly || !l.only[parent.Process.Pid] {
		t.Errorf("%d processes are told apart, with the parent %t", n, l.only[parent.Process.Pid])
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

// TestLost checks that records which the kernel has to drop are counted, each time.
func TestLost(t *testing.T) {
	l := openLog(t, nil)
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	mapped := func() {
		b, err := unix.Mmap(int(self.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		unix.Munmap(b)
	}
	// On one CPU, since the kernel says what was lost before its next report there.
	runtime.LockOSThread() // which ends with the test
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		t.Fatal(err)
	}
	for cpu := range 1 << 10 {
		if cpus.IsSet(cpu) {
			cpus.Zero()
			cpus.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &cpus); err != nil {
		t.Fatal(err)
	}
	last := l.Lost() // perhaps of other processes
	for range 3 {
		before := l.State(os.Getpid())
		l.mu.Lock() // so that nobody reads
		for range len(l.rings[0].data)/80 + 1 {
			mapped() // each takes more bytes
		}
		l.mu.Unlock()
		l.State(os.Getpid())
		if mapped(); l.State(os.Getpid()).Losses == before.Losses {
			t.Fatal("nothing was lost")
		}
		lost := l.Lost()
		if lost <= last {
			t.Fatalf("%d records were lost, %d before", lost, last)
		}
		last = lost
	}
	if n := l.State(os.Getpid()).Images; n != 1 {
		t.Errorf("%d images, want the one that it has", n)
	}
}

// TestCloseWaits checks that Close does not wait for ever for what looks at new files, as it may
// be in a file system that does not answer, and that nothing more is looked at then.
func TestCloseWaits(t *testing.T) {
	l, err := Open(nil, nil)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		needs.Skip(t, "needs CAP_PERFMON: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	looked, answer, calls := make(chan bool, 1), make(chan bool), 0
	l.Follow(func(int) {
		if calls++; calls == 1 {
			looked <- true
			<-answer
		}
	})
	for range 3 { // processes
		if out, err := exec.Command("/proc/self/exe", "-test.run=^$").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	<-looked
	l.mu.Lock()
	l.fresh[os.Getpid()] = true // as well
	l.mu.Unlock()
	closed := make(chan bool)
	go func() {
		l.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("Close waits for what does not come")
	}
	close(answer)
	<-l.shown
	if calls != 1 {
		t.Errorf("%d processes were looked at, want 1", calls)
	}
}

// TestNoWatcher checks that the kernel distinguishes the log's events from those of perf, which
// may watch probes.
func TestNoWatcher(t *testing.T) {
	l := openLog(t, nil)
	perf, err := openRing(0, buildIDs)
	if err != nil {
		t.Fatal(err)
	}
	defer perf.close()
	for _, r := range append([]*ring{perf}, l.rings...) {
		u, err := sys.TaskPerfUprobe(os.Getpid(), r.fd)
		if errors.Is(err, unix.EPERM) {
			needs.Skip(t, "needs CAP_SYS_ADMIN: %v", err)
		}
		if want := r == perf; errors.Is(err, unix.ENOENT) != want || u != nil {
			t.Errorf("the kernel reports %v, %v of an event: without a program is %v", u, err, want)
		}
	}
}
