package attach_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// guarded is a program, and its library, whose events fire only while their semaphores
// are raised.
type guarded struct{ program, library string }

// linkers lay out files differently: GNU ld gives each segment pages of its own, the
// others have segments share them.
var linkers = []string{"bfd", "gold", "lld", "mold"}

func compileGuarded(t *testing.T, linker string) guarded {
	t.Helper()
	command := []string{"gcc", "-O1"}
	if linker != "bfd" { // gcc's own, which emulated machines need not have
		needs.Tools(t, "ld."+linker)
		command = append(command, "-fuse-ld="+linker)
	}
	return guarded{
		compileC(t, "guarded", append(slices.Clone(command), "-ldl")...),
		compileC(t, "guarded", append(slices.Clone(command), "-shared", "-fPIC", "-DLIBRARY")...),
	}
}

// model is a guarded program beside what it must do.
type model struct {
	t *testing.T
	guarded
	*tracee.Program
	loaded  int // libraries
	watched bool
	fired   int // while it was watched
	missed  int
}

func (m *model) start() {
	m.Program = start(m.t, exec.Command(m.program))
	m.expect(1, "began")
}

// expect has the program do what fires n events, if somebody watches.
func (m *model) expect(n int, command string, args ...any) {
	m.t.Helper()
	for _, a := range args {
		command += fmt.Sprint(" ", a)
	}
	got, err := strconv.Atoi(m.Do("%s", command))
	if err != nil {
		m.t.Fatal(err)
	}
	if !m.watched {
		n = 0
	}
	m.fired, m.missed = m.fired+got, m.missed+n-got
	if got > n {
		m.t.Errorf("%s fired %d events, want %d", command, got, n)
	} else if got < n {
		m.t.Logf("%s fired %d events of %d", command, got, n)
	}
}

const times = 10

// act does all that a program can do to semaphores.
func (m *model) act() {
	m.t.Helper()
	m.expect(times*(1+m.loaded), "fire", times)
	m.expect(times, "fork", times)
	m.expect(1+times, "exec", times)
}

// load loads the library, and a second copy.
func (m *model) load() {
	m.t.Helper()
	for _, how := range []string{"dlopen", "dlmopen"} {
		m.expect(1+times, how, times, m.library)
		m.loaded++
		m.act()
	}
}

// end checks that nothing is left of a tracer.
func (m *model) end() {
	m.t.Helper()
	m.watched = false
	if sum := m.Do("values"); sum != "0" {
		m.t.Errorf("the semaphores add up to %s after the end, want 0", sum)
	}
	m.act()
}

// TestSemaphores compares the events of programs of several linkers with their own
// count: they start before, while and after a session is attached, load the library
// before or meanwhile, fork and execute.
func TestSemaphores(t *testing.T) {
	for i := range 2 * len(linkers) {
		linker, kind := linkers[i/2], []attach.LinkKind{attach.AutoLink, attach.PerfLink}[i%2]
		t.Run(linker+"-"+kind.String(), func(t *testing.T) {
			g := compileGuarded(t, linker)
			programs := map[string]*model{}
			for _, name := range []string{"before", "loaded", "while", "after"} {
				programs[name] = &model{t: t, guarded: g}
			}
			for _, name := range []string{"before", "loaded"} {
				programs[name].start()
			}
			programs["loaded"].load()
			programs["before"].act()
			s, err := attach.Open(t.Context(), []string{g.program + ":guarded:hit", g.library + ":guarded:hit"}, by(t, &attach.Options{Link: kind}))
			if err != nil {
				needPrivileges(t, err)
				t.Fatal(err)
			}
			defer s.Close()
			for _, m := range programs {
				m.watched = true
			}
			programs["while"].start()
			for _, name := range []string{"before", "loaded", "while"} {
				programs[name].act()
			}
			programs["while"].load()
			programs["before"].load()
			fired, missed := 0, 0
			for _, m := range programs {
				fired, missed = fired+m.fired, missed+m.missed
			}
			if n := len(drain(t, s)); n != fired {
				t.Errorf("got %d events, the programs fired %d", n, fired)
			}
			if st := checkSum(t, s); missed > 0 && st.Silent == 0 {
				t.Errorf("the programs left out %d events, and nothing says so: %+v", missed, st)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := s.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			programs["after"].watched = false
			programs["after"].start()
			for _, m := range programs {
				m.end()
			}
		})
	}
}

// TestSemaphoresOnOneCPU has programs wait for a tracer that has no CPU but theirs. A kernel
// that does not preempt itself gives it to the tracer only where they let it.
func TestSemaphoresOnOneCPU(t *testing.T) {
	g := compileGuarded(t, "lld")
	onOneCPU(t)
	s := open(t, g.program+":guarded:hit", by(t, nil))
	const starts = 10
	fired := 0
	for range starts {
		m := &model{t: t, guarded: g, watched: true}
		m.start()
		fired += m.fired
	}
	if n := len(drain(t, s)); n != fired {
		t.Errorf("got %d events, the programs fired %d", n, fired)
	}
	if st := checkSum(t, s); st.Silent > starts/2 {
		t.Errorf("%d of %d programs went on before their semaphores were raised", st.Silent, starts)
	}
}

// TestSemaphoresOfStarting ends a session while a program has been executed and has not begun: no
// breakpoint is left.
func TestSemaphoresOfStarting(t *testing.T) {
	for _, linker := range []string{"lld", "mold"} {
		t.Run(linker, func(t *testing.T) {
			runtime.LockOSThread() // the kernel kills what it traces when this thread ends
			g := compileGuarded(t, linker)
			s := open(t, g.program+":guarded:hit", by(t, nil))
			var site uint64
			for _, p := range s.Plan() {
				site = p.Probe.Location + p.Probe.Delta
			}
			cmd := exec.Command(g.program)
			cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true} // stops it when it has executed
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
			var st unix.WaitStatus
			if _, err := unix.Wait4(cmd.Process.Pid, &st, 0, nil); err != nil {
				t.Fatal(err)
			}
			maps, err := procfs.Maps(cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.Close(), s.Wait(t.Context())); err != nil {
				t.Error(err)
			}
			mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", cmd.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			defer mem.Close()
			file, err := os.Open(g.program)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			var got, want [1]byte
			_, err = mem.ReadAt(got[:], int64(maps[0].Start+site))
			if _, fileErr := file.ReadAt(want[:], int64(s.Plan()[0].Probe.Offset)); err != nil || fileErr != nil || got != want {
				t.Errorf("the site begins with %#x, want %#x: %v, %v", got, want, err, fileErr)
			}
		})
	}
}

// onOneCPU has this process, and what it starts, run on the first CPU that it has.
func onOneCPU(t *testing.T) {
	t.Helper()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := range 1024 {
		if all.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	set := func(cpus *unix.CPUSet) {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err == nil {
				err = unix.SchedSetaffinity(tid, cpus)
			}
			if err != nil && !errors.Is(err, unix.ESRCH) {
				t.Fatal(err)
			}
		}
	}
	set(&one)
	t.Cleanup(func() { set(&all) })
}

// TestSemaphoresLate has the library appear, and be loaded twice, before a rescan finds its file.
func TestSemaphoresLate(t *testing.T) {
	for _, linker := range linkers {
		t.Run(linker, func(t *testing.T) {
			g, dir := compileGuarded(t, linker), t.TempDir()
			appear := func(path *string) {
				late := filepath.Join(dir, filepath.Base(filepath.Dir(*path)))
				needs.Run(t, "cp", *path, late)
				*path = late
			}
			appear(&g.program)
			s := open(t, dir+"/*:guarded:hit", by(t, &attach.Options{Rescan: time.Hour}))
			early, late := &model{t: t, guarded: g, watched: true}, &model{t: t, guarded: g, watched: true}
			early.start()
			appear(&g.library)
			early.library, late.library = g.library, g.library
			early.load()
			if err := s.Rescan(); err != nil {
				t.Fatal(err)
			}
			missed := early.missed
			early.act()
			late.start()
			late.load()
			if n := len(drain(t, s)); n != early.fired+late.fired {
				t.Errorf("got %d events, the programs fired %d", n, early.fired+late.fired)
			}
			if st := checkSum(t, s); early.missed+late.missed > missed && st.Silent == 0 {
				t.Errorf("the programs left out %d events after the rescan, and nothing says so: %+v", early.missed+late.missed-missed, st)
			}
			s.Close()
			if err := s.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			early.end()
			late.end()
		})
	}
}

// TestSemaphoresOfKilledTracer checks that the kernel lowers what was raised for it.
func TestSemaphoresOfKilledTracer(t *testing.T) {
	for _, linker := range linkers {
		t.Run(linker, func(t *testing.T) {
			g := compileGuarded(t, linker)
			open(t, g.program+":guarded:hit", nil).Close() // or skip
			before, while := &model{t: t, guarded: g}, &model{t: t, guarded: g}
			before.start()
			tracer := startChild(t, "tracer")
			tracer.Do("0 0 %s:guarded:hit", g.program)
			before.watched, while.watched = true, true
			while.start()
			while.act()
			before.act()
			if while.fired == 0 || before.fired == 0 {
				t.Errorf("fired %d and %d events", before.fired, while.fired)
			}
			tracer.Kill()
			before.end()
			while.end()
		})
	}
}

// TestCopiesOfKilledTracer kills a tracer of a library that a process has loaded twice: the
// kernel lowers the first copy's semaphores, and the next tracer the others.
func TestCopiesOfKilledTracer(t *testing.T) {
	for _, linker := range []string{"bfd", "lld"} {
		t.Run(linker, func(t *testing.T) {
			g := compileGuarded(t, linker)
			m := &model{t: t, guarded: g}
			m.start()
			m.load()
			tracer := startChild(t, "tracer")
			tracer.Do("%d 0 %s:guarded:hit", m.PID(), g.library)
			m.watched = true
			if m.act(); m.fired == 0 {
				t.Error("fired no events")
			}
			tracer.Kill()
			t.Logf("the semaphores add up to %s after the tracer's end", m.Do("values"))
			open(t, g.library+":guarded:hit", &attach.Options{Target: attach.Target{PIDs: []int{m.PID()}}}).Close()
			m.end()
		})
	}
}
