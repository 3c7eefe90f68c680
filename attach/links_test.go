package attach_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// needMulti skips the test if err says that the kernel has no uprobe_multi links.
func needMulti(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ebpf.ErrNotSupported) {
		needs.Skip(t, "without uprobe_multi: %v", err)
	}
}

// TestLinks counts links: one per file, program and process, whatever the
// number of sites. It checks that the kernel has the file offsets, semaphores and
// cookies of the sites.
func TestLinks(t *testing.T) {
	path := compile(t, "gcc", "-O2", "-DSEMAPHORES")
	other := filepath.Join(t.TempDir(), "other")
	if out, err := exec.Command("cp", path, other).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p, q := start(t, exec.Command(path)), start(t, exec.Command(path))
	before := bpf.OwnLinks(t)
	for _, test := range []struct {
		name      string
		selectors []string
		pids      []int
		links     int // for each of the programs
		sites     int
	}{
		{"file", []string{path + ":args:*"}, nil, 1, 7},
		{"files", []string{path + ":args:*", other + ":args:*"}, nil, 2, 14},
		{"process", []string{path + ":args:*"}, []int{p.PID()}, 1, 7},
		{"processes", []string{path + ":args:*"}, []int{p.PID(), q.PID()}, 2, 14},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := attach.Open(t.Context(), test.selectors, &attach.Options{Target: attach.Target{PIDs: test.pids}, Link: attach.MultiLink})
			needMulti(t, err)
			if err != nil {
				needPrivileges(t, err)
				t.Fatal(err)
			}
			defer s.Close()
			// One program reads memory and may sleep, the other does neither.
			const programs = 2
			links := bpf.NewLinks(t, before)
			if got := len(links); got != programs*test.links {
				t.Errorf("%d links, want %d", got, programs*test.links)
			}
			type uprobe struct {
				File              string
				PID               uint32
				Offset, Semaphore uint64
			}
			var got, want []uprobe
			cookies := map[string]bool{}
			for _, l := range links {
				multi := l.UprobeMulti()
				if multi == nil {
					continue
				}
				offsets, ok := multi.Offsets()
				if !ok {
					needs.Skip(t, "this kernel does not describe uprobe_multi links")
				}
				pid, _ := multi.Pid()
				for _, o := range offsets {
					got = append(got, uprobe{multi.File, pid, o.Offset, o.ReferenceCount})
					key := fmt.Sprint(l.Program, o.Cookie)
					if o.Offset == 0 || cookies[key] {
						t.Errorf("offset %#x, cookie %#x of program %d: an offset is not 0, and a cookie is of one site", o.Offset, o.Cookie, l.Program)
					}
					cookies[key] = true
				}
			}
			for _, site := range s.Plan() {
				want = append(want, uprobe{site.Path, uint32(site.PID), site.Offset, site.Probe.SemaphoreOffset})
			}
			less := func(a, b uprobe) bool { return fmt.Sprint(a) < fmt.Sprint(b) }
			if d := cmp.Diff(want, got, sorted(less)); d != "" || len(got) != test.sites {
				t.Errorf("%d uprobes, want %d (-want +got):\n%s", len(got), test.sites, d)
			}
		})
	}
	if n := len(bpf.NewLinks(t, before)); n > 0 {
		t.Errorf("%d links are left", n)
	}
}

// TestEndedProcesses traces the whole machine while processes come and go, each
// with a memory file of its own. Ended processes cost no link and no program, and
// their events remain counted.
func TestEndedProcesses(t *testing.T) {
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			processes := 24
			switch {
			case testing.Short():
				processes = 4
			case kind == attach.PerfLink:
				processes = 4 // each costs the kernel 0.1 s
			}
			name := fmt.Sprintf("ended%d", os.Getpid())
			first := startEnded(t, name)
			s := open(t, name+":*", &attach.Options{Rescan: tracee.RescanEvery(2 * time.Millisecond), Link: kind})
			objects := func() (links, programs int) {
				fds, _ := filepath.Glob("/proc/self/fd/*")
				for _, fd := range fds {
					switch target, _ := os.Readlink(fd); target {
					case "anon_inode:bpf_link", "anon_inode:[perf_event]":
						links++
					case "anon_inode:bpf-prog":
						programs++
					}
				}
				return links, programs
			}
			links, programs := objects()
			const rounds = 2
			for round := range rounds {
				var all []*tracee.Program
				for range processes / rounds {
					all = append(all, startEnded(t, name))
				}
				// Sites of the last round may have left the plan.
				awaitKnown(t, s, 1+(round+1)*len(all))
				for _, p := range all {
					p.Do("fire")
					if err := p.End(); err != nil {
						t.Error(err)
					}
				}
			}
			for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) { // each link is a wait for the kernel
				l, p := objects()
				if l == links && p == programs {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%d links and %d programs after %d processes have ended, %d and %d before", l, p, processes, links, programs)
				}
			}
			first.Do("fire") // the one that lives is still traced
			fired := map[int]bool{}
			for _, ev := range drain(t, s) {
				fired[ev.PID] = true
			}
			if len(fired) != processes+1 || !fired[first.PID()] {
				t.Errorf("events of %d processes, want %d", len(fired), processes+1)
			}
			if st := checkSum(t, s); st.Fired != uint64(processes+1) {
				t.Errorf("stats %+v, want %d fired", st, processes+1)
			}
		})
	}
}

// TestCookies checks that a program of the caller's own reads all 64 bits of the
// cookie of each site, by either mechanism.
func TestCookies(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	for _, kind := range []attach.LinkKind{attach.MultiLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			p := start(t, exec.Command(path))
			probes := []reader.Probe{live.Probe(t, p.PID(), "args:bare"), live.Probe(t, p.PID(), "args:ints")}
			cookies := []uint64{0xfedcba9876543210, 1<<63 + 1}
			seen, prog := cookieProgram(t, kind)
			a, err := attach.AttachProbes(prog, probes, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{p.PID()}}, Link: kind, Cookies: cookies})
			needMulti(t, err)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			p.Do("")
			got := map[uint64]uint64{}
			for _, c := range cookies {
				var n uint64
				if err := seen.Lookup(c, &n); err != nil {
					t.Errorf("the program has not seen the cookie %#x: %v", c, err)
				}
				got[c] = n
			}
			if d := cmp.Diff(map[uint64]uint64{cookies[0]: 1, cookies[1]: 1}, got); d != "" {
				t.Errorf("cookies seen (-want +got):\n%s", d)
			}
		})
	}
}

// cookieProgram returns a program that counts how often it has run by cookie.
func cookieProgram(t *testing.T, kind attach.LinkKind) (*ebpf.Map, *ebpf.Program) {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: 16})
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	t.Cleanup(func() { m.Close() })
	typ := ebpf.AttachTraceUprobeMulti
	if kind == attach.PerfLink {
		typ = ebpf.AttachNone
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: typ, License: "GPL", Instructions: asm.Instructions{
		asm.FnGetAttachCookie.Call(),
		asm.StoreMem(asm.R10, -8, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R1, 1), asm.StoreMem(asm.R10, -16, asm.R1, asm.DWord),
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -8),
		asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, -16),
		asm.Mov.Imm(asm.R4, 0), // BPF_ANY
		asm.FnMapUpdateElem.Call(),
		asm.Mov.Imm(asm.R0, 0), asm.Return(),
	}})
	if err != nil {
		needMulti(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close() })
	return m, prog
}

// TestRemovedFiles traces the whole machine while programs are built, run and
// deleted or replaced. None keeps a link, which would also keep the file's space
// on disk.
func TestRemovedFiles(t *testing.T) {
	built := compile(t, "gcc", "-O2")
	dir := t.TempDir()
	path := filepath.Join(dir, "args")
	startCopy := func() *tracee.Program {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		needs.Run(t, "cp", built, path)
		return start(t, exec.Command(path))
	}
	first := startCopy()
	first.Do("") // now it is mapped, for sure
	s := open(t, dir+"/*:args:bare", &attach.Options{Rescan: tracee.RescanEvery(2 * time.Millisecond)})
	links := func() (n int) {
		fds, _ := filepath.Glob("/proc/self/fd/*")
		for _, fd := range fds {
			switch target, _ := os.Readlink(fd); target {
			case "anon_inode:bpf_link", "anon_inode:[perf_event]":
				n++
			}
		}
		return n
	}
	one := links()
	second := startCopy() // another file of the same name
	awaitSites(t, s.Plan, 2)
	second.Do("")
	for _, p := range []*tracee.Program{first, second} {
		if err := p.End(); err != nil {
			t.Error(err)
		}
	}
	third := startCopy()
	awaitSites(t, func() attach.Plan {
		if n := found(t, s); n > 3 {
			t.Fatalf("%d sites, want 3", n)
		}
		return newest(t, s, 3) // the others may have left the plan
	}, 1)
	for end := time.Now().Add(5 * time.Minute); links() != one; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d links for one file that is there, %d at first", links(), one)
		}
	}
	third.Do("")
	fired := map[int]int{}
	for _, ev := range drain(t, s) {
		fired[ev.PID]++
	}
	if fired[second.PID()] != 1 || fired[third.PID()] != 1 {
		t.Errorf("got %v, want one event of %d and %d", fired, second.PID(), third.PID())
	}
	checkSum(t, s)
}

func init() { roles["ended"] = tracee.Obey(endedChild()) }

// endedChild declares a probe of the provider that its command names, or fires.
func endedChild() func(string) error {
	var p *provider.Provider
	var fired *provider.Probe0
	return func(command string) error {
		if name, ok := strings.CutPrefix(command, "load "); ok {
			p = provider.New(name, nil)
			fired = provider.NewProbe0(p, "fired")
			return p.Load()
		}
		fired.Fire()
		return nil
	}
}

func startEnded(t *testing.T, name string) *tracee.Program {
	t.Helper()
	p := startChild(t, "ended")
	p.Do("load %s", name)
	return p
}

func sorted[T any](less func(a, b T) bool) cmp.Option { return cmpopts.SortSlices(less) }
