package attach_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

const (
	startingLibrary = `
#include <sys/sdt.h>
void fire(int x) { DTRACE_PROBE1(startinglib, hit, x); }
__attribute__((constructor)) static void construct(void) { fire(0); }`
	startingProgram = `
#include <sys/sdt.h>
void fire(int);
int main(void) {
	fire(1);
	DTRACE_PROBE1(starting, hit, 2);
	return 0;
}`
)

// buildStarting compiles a program and its library, which is found by a run path, and
// returns the program's path. Programs of tests in other processes have another name.
func buildStarting(t *testing.T, flags ...string) string {
	t.Helper()
	needs.C(t)
	dir := t.TempDir()
	program := filepath.Join(dir, fmt.Sprint("starting", os.Getpid()))
	for path, source := range map[string]string{program: startingProgram, filepath.Join(dir, "lib"): startingLibrary} {
		if err := os.WriteFile(path+".c", []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	library := filepath.Join(dir, "libstarting.so")
	needs.Run(t, "gcc", "-O1", "-shared", "-fPIC", "-Wl,-soname,libstarting.so", "-o", library, filepath.Join(dir, "lib.c"))
	needs.Run(t, "gcc", append([]string{"-O1", "-o", program, program + ".c", library, "-Wl,-rpath,$ORIGIN"}, flags...)...)
	return program
}

// TestStarting selects processes by what starts them, and checks that the events of
// those arrive that have ended before any rescan, also those of a library.
func TestStarting(t *testing.T) {
	program := buildStarting(t)
	t.Setenv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH"))
	for name, target := range map[string]attach.Target{"exe": {Exe: program}, "comm": {Comm: filepath.Base(program)}} {
		t.Run(name, func(t *testing.T) {
			s := openAll(t, &attach.Options{Target: target, Await: true, Rescan: time.Hour}, "starting:hit", "startinglib:hit")
			if n := s.Plan().Attached(); n != 2 {
				t.Errorf("attached to %d sites before a process runs, want 2: %+v", n, s.Plan())
			}
			const times = 20
			for range times {
				if err := exec.Command(program).Run(); err != nil {
					t.Fatal(err)
				}
			}
			got := map[any]int{}
			for _, ev := range drain(t, s) {
				got[ev.Args[0].Value]++
			}
			for value := range int64(3) {
				if got[value] != times {
					t.Errorf("%d events with argument %d, want %d", got[value], value, times)
				}
			}
			checkSum(t, s)
		})
	}
}

// TestStartingReplaced writes a program anew while it is traced, and runs each.
func TestStartingReplaced(t *testing.T) {
	program := buildStarting(t)
	s := open(t, "starting:hit", &attach.Options{Target: attach.Target{Exe: program}, Await: true, Rescan: time.Hour})
	run := func() {
		t.Helper()
		if err := exec.Command(program).Run(); err != nil {
			t.Fatal(err)
		}
	}
	run()
	data, err := os.ReadFile(program)
	if err == nil {
		err = os.Remove(program)
	}
	if err == nil {
		err = os.WriteFile(program, data, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; {
		if err := s.Rescan(); err != nil {
			t.Fatal(err)
		}
		if found(t, s) == 2 && len(s.Plan()) == 1 {
			break // the first file is left
		}
		if time.Now().After(end) {
			t.Fatalf("plan %+v, want the site of the new file", s.Plan())
		}
	}
	run()
	if n := len(drain(t, s)); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
	checkSum(t, s)
}

// TestStartingUnknown selects processes by a name that no program in PATH has: what the first
// of them maps is attached to soon, though it lives for milliseconds.
func TestStartingUnknown(t *testing.T) {
	program := buildStarting(t)
	own := filepath.Join(filepath.Dir(program), "renames-itself") // as servers call their workers
	name := ownName("renamed")
	source := strings.Replace(startingProgram, "int main(void) {", fmt.Sprintf("#include <sys/prctl.h>\nint main(void) { prctl(PR_SET_NAME, %q);", name), 1)
	if err := os.WriteFile(own+".c", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-O1", "-o", own, own+".c", filepath.Join(filepath.Dir(program), "libstarting.so"), "-Wl,-rpath,$ORIGIN")
	for comm, run := range map[string]struct {
		program string
		events  int // of one run
	}{filepath.Base(program): {program, 3}, name: {own, 2}} {
		t.Run(comm, func(t *testing.T) {
			s := openAll(t, &attach.Options{Target: attach.Target{Comm: comm}, Await: true, Rescan: time.Hour}, "starting:hit", "startinglib:hit")
			for end := time.Now().Add(20 * time.Second); s.Plan().Attached() < 2; {
				if err := exec.Command(run.program).Run(); err != nil {
					t.Fatal(err)
				}
				if time.Now().After(end) {
					t.Fatal("nothing is attached to, although processes of that name ran")
				}
			}
			const times = 20
			want, got := map[int]int{}, map[int]int{}
			for range times {
				cmd := exec.Command(run.program)
				if err := cmd.Run(); err != nil {
					t.Fatal(err)
				}
				want[cmd.Process.Pid] = run.events
			}
			for _, ev := range drain(t, s) {
				if want[ev.PID] > 0 { // it ran when all was attached to
					got[ev.PID]++
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("events by process %v, want %v", got, want)
			}
			checkSum(t, s)
		})
	}
}

// TestSelectedFiles selects processes by their program: sites of files that only
// other processes have mapped are not attached to.
func TestSelectedFiles(t *testing.T) {
	program := buildStarting(t)
	other := provider.New("bystander", nil) // in this process
	t.Cleanup(func() { other.Close() })
	provider.NewProbe0(other, "hit")
	if err := other.Load(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH"))
	for name, target := range map[string]attach.Target{"exe": {Exe: program}, "comm": {Comm: filepath.Base(program)}} {
		t.Run(name, func(t *testing.T) {
			s := openAll(t, &attach.Options{Target: target, Await: true, Rescan: time.Hour}, "starting*:hit", "bystander:hit")
			for _, site := range s.Plan() {
				if site.Probe.Provider == "bystander" {
					t.Errorf("attached to %s of this process, want the probes of %s only", site.Probe.Path, program)
				}
			}
			if n := s.Plan().Attached(); n < 2 {
				t.Errorf("attached to %d sites, want one of the program and one of its library", n)
			}
		})
	}
}
