package attach_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// switched is a program of testdata/switches.c.
type switched struct{ program, library string }

// buildSwitched links the program with code that switches stacks, none if that is "", and
// lets it have the function that is left in a library of its own.
func buildSwitched(t *testing.T, code string, library bool) (s switched) {
	t.Helper()
	dir := t.TempDir()
	s.program = filepath.Join(dir, "switches")
	args := []string{"-O1", "-o", s.program, "testdata/switches.c"}
	if code != "" {
		source := filepath.Join(dir, "code.s")
		if err := os.WriteFile(source, []byte(code+"\n.globl go_on\n.section .note.GNU-stack,\"\",@progbits\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-DSWITCHES", source)
	}
	if library {
		s.library = filepath.Join(dir, "libwork.so")
		needs.Run(t, "gcc", "-O1", "-shared", "-fPIC", "-DLIBRARY", "-o", s.library, "testdata/switches.c")
		args = append(args, "-DNO_WORK", "-s", s.library)
	}
	needs.Run(t, "gcc", args...)
	return s
}

// TestSwitchesOfStacks traces the returns of a function that is left by each kind of code in
// stackswitch's testdata, in the program and in a library of it: at its return instructions,
// since programs that switch stacks are recognised.
func TestSwitchesOfStacks(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		needs.Skip(t, "needs an amd64 machine: its code is that machine's")
	}
	needs.C(t)
	text, err := os.ReadFile("internal/stackswitch/testdata/amd64.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, kind := range strings.Split(string(text), "\n== ")[1:] {
		head, code, _ := strings.Cut(kind, "\n")
		if !strings.HasPrefix(code, "go_on:") {
			continue
		}
		tried++
		name, _, _ := strings.Cut(head, " ")
		t.Run(name, func(t *testing.T) {
			// Compilers for emulated machines have no library of theirs.
			s := buildSwitched(t, code, tried%2 == 0 && !testing.Short())
			p := start(t, exec.Command(s.program))
			if got := p.Do(""); got != "done 400 wrong 0" {
				t.Fatalf("the program itself: %s", got)
			}
			file := s.program
			if s.library != "" {
				file = s.library
			}
			o := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
			a := openAggregate(t, []string{"uretprobe:" + file + ":work"}, attach.Count(), &o)
			for _, site := range a.Plan() {
				if !site.Probe.AtRET {
					t.Errorf("%s: a return probe is at %#x, although %s switches stacks", name, site.Offset, s.program)
				}
			}
			if got := p.Do(""); got != "done 400 wrong 0" {
				t.Errorf("the program under its probes: %s", got)
			}
			if groups, err := a.Read(); err != nil || len(groups) != 1 || groups[0].Count != 400 {
				t.Errorf("got %v (error %v), want 400 returns", groups, err)
			}
		})
	}
	if tried < 10 {
		t.Errorf("only %d kinds were tried", tried)
	}
}

// TestStateThreads traces the returns of a function that is left by two functions, of which one keeps
// the stack pointer and the other one loads it. Their code is that of setjmp and longjmp, and only
// their names say more.
func TestStateThreads(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	path := build(t, "statethreads.c", "gcc", "-O1")
	p := start(t, exec.Command(path))
	p.Do("") // which begins the second coroutine
	a := openAggregate(t, []string{"uretprobe:" + path + ":work"}, attach.Count(), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	for _, site := range a.Plan() {
		if !site.Probe.AtRET {
			t.Errorf("a return probe is at %#x", site.Offset)
		}
	}
	if t.Failed() {
		return // it would end the program
	}
	if got := p.Do(""); got != "done 200 wrong 0" {
		t.Errorf("the program under its probes: %s", got)
	}
	if groups, err := a.Read(); err != nil || len(groups) != 1 || groups[0].Count != 200 {
		t.Errorf("got %v (error %v), want 200 returns", groups, err)
	}
}

// TestNoSwitches traces the returns of functions that are never left: their programs compute
// what they do without a tracer, and all returns are seen.
func TestNoSwitches(t *testing.T) {
	needs.C(t)
	for name, library := range map[string]bool{"program": false, "library": true} {
		t.Run(name, func(t *testing.T) {
			s := buildSwitched(t, "", library && !testing.Short())
			p := start(t, exec.Command(s.program))
			file := s.program
			if s.library != "" {
				file = s.library
			}
			a := openAggregate(t, []string{"uretprobe:" + file + ":work"}, attach.Count(), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
			if got := p.Do(""); got != "done 400 wrong 0" {
				t.Errorf("the program: %s", got)
			}
			if groups, err := a.Read(); err != nil || len(groups) != 1 || groups[0].Count != 400 {
				t.Errorf("got %v (error %v), want 400 returns", groups, err)
			}
		})
	}
}

// TestForcedSwitches shows why the kernel's return probes are not used: one ends the program or
// changes what it computes.
func TestForcedSwitches(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		needs.Skip(t, "needs an amd64 machine: its code is that machine's")
	}
	needs.C(t)
	code := "go_on: push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\nmov %rsp,(%rdi); mov %rsi,%rsp\npop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret"
	s := buildSwitched(t, code, false)
	cmd := exec.Command(s.program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kernelReturn(t, s.program, "work", cmd.Process.Pid)
	in.Write([]byte("\n"))
	in.Close()
	limit := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() }) // it may go round and round
	err = cmd.Wait()
	limit.Stop()
	if err == nil && out.String() == "done 400 wrong 0\n" {
		t.Error("the program is right under a return probe: the refusal has no reason")
	}
	t.Logf("%v, %q", err, out.String())
}
