package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/pty"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// awaitState waits until a process is in a state.
func awaitState(t *testing.T, pid int, state string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); stateOf(pid) != state; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d is in state %q, want %s", pid, stateOf(pid), state)
		}
	}
}

// TestStopFlag stops one of several processes, says which and how to go on, ends when it does, and
// lets nobody stopped behind however sdttrace ends, unless that is asked for.
func TestStopFlag(t *testing.T) {
	dir := commands(t, "sdttrace")
	path := needs.Compile(t, "../../attach/testdata/signals.c", "gcc", "-O2")
	for name, test := range map[string]struct {
		args []string
		end  func(*tracee.Program)
		left bool
		goes bool // the test lets it go on
	}{
		"interrupt": {args: []string{"--stop"}, end: func(p *tracee.Program) { p.Signal(syscall.SIGINT) }},
		"terminate": {args: []string{"--stop", "--json", "--sample", "10"}, end: func(p *tracee.Program) { p.Signal(syscall.SIGTERM) }},
		"kill":      {args: []string{"--stop=1", "-q"}, end: func(p *tracee.Program) { p.Signal(syscall.SIGKILL) }},
		"duration":  {args: []string{"--stop", "--duration", "1s"}, end: func(*tracee.Program) {}},
		"leave":     {args: []string{"--stop=leave"}, end: func(*tracee.Program) {}, left: true},
		"go on":     {args: []string{"--stop"}, end: func(*tracee.Program) {}, goes: true},
	} {
		t.Run(name, func(t *testing.T) {
			programs := map[int]*tracee.Program{}
			for range 3 {
				p := tracee.StartVictim(t, exec.Command(path)).Ready()
				programs[p.PID()] = p
			}
			begin := func(args ...string) *tracee.Program {
				args = append(args, "--where", "arg0 > 0", path+":signals:tick")
				return tracee.StartVictim(t, exec.Command(filepath.Join(dir, "sdttrace"), args...))
			}
			p, out := begin(test.args...), ""
			if name == "duration" {
				out = p.Rest()
				p.End()
				for _, longer := range []string{"10s", "1m"} { // the machine may stand still for all of a second
					if strings.Contains(p.Stderr().String(), "kill -CONT") {
						break
					}
					p = begin("--stop", "--duration", longer)
					out = p.Rest()
					p.End()
				}
			}
			stderr := p.Stderr()
			stderr.AwaitTrying(t, "kill -CONT", func() { skipRefused(t, stderr) })
			var pid int
			said := regexp.MustCompile(`sdttrace: process \d+ stands still at this event: look at it by gdb -p .*`).FindString(stderr.String())
			if _, err := fmt.Sscanf(said, "sdttrace: process %d", &pid); err != nil || programs[pid] == nil {
				t.Fatalf("%v, process %d: %s", err, pid, stderr)
			}
			if !test.left && name != "duration" { // or sdttrace may have ended
				awaitState(t, pid, "T")
			}
			test.end(p)
			if test.goes {
				syscall.Kill(pid, syscall.SIGCONT)
			}
			if name != "duration" {
				out = p.Rest()
			}
			p.End()
			if test.left {
				awaitState(t, pid, "T")
				syscall.Kill(pid, syscall.SIGCONT)
			}
			for _, p := range programs {
				p.Do("")
			}
			if n := strings.Count(out, "signals:tick") + strings.Count(out, `"tick"`); n != 1 || !strings.Contains(out, "main") || !strings.Contains(out, fmt.Sprint(pid)) {
				t.Errorf("it printed %d events: %s", n, out)
			}
		})
	}
}

// TestStopCommand stops a command of its own, which an interrupt of the terminal reaches all the
// same.
func TestStopCommand(t *testing.T) {
	dir := commands(t, "sdttrace", "answering")
	master, slave := pty.Open(t)
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), "--stop", "signaltest:alive", "--", filepath.Join(dir, "answering"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	var stdout, stderr tracee.Output
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	stderr.AwaitTrying(t, "kill -CONT", func() { skipRefused(t, &stderr) })
	press := func() { master.Write([]byte{3}) }
	press()
	stderr.Await(t, "answering to interrupt")
	stderr.AwaitTrying(t, "attached 1 of 1 site", press)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v: %s", err, &stderr)
	}
}

// TestSignalFlag sends a signal, and says what the process does with it.
func TestSignalFlag(t *testing.T) {
	dir := commands(t, "sdttrace")
	path := needs.Compile(t, "../../attach/testdata/signals.c", "gcc", "-O2")
	for _, test := range []struct{ how, signal, want string }{
		{"count", "USR1", "sent SIGUSR1 to process %d at this event\n"},
		{"ignore", "SIGUSR1,3", "sent SIGUSR1 to process %d at this event, which ignores it\n"},
		{"block", "usr1", "sent SIGUSR1 to process %d at this event, whose first thread blocks it\n"},
		{"count", "WINCH", "sent SIGWINCH to process %d at this event, which ignores it\n"},
		{"count", "USR2", "process %d does not handle SIGUSR2, and may end by it\n"},
	} {
		p := tracee.StartVictim(t, exec.Command(path, test.how)).Ready()
		out, err := exec.Command(filepath.Join(dir, "sdttrace"), "-p", fmt.Sprint(p.PID()), "--signal", test.signal, "signals:tick").CombinedOutput()
		if want := fmt.Sprintf(test.want, p.PID()); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s, %s: %v, want %q: %s", test.how, test.signal, err, want, out)
		}
	}
}

// TestStopRefused checks what is refused, and by which word.
func TestStopRefused(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--stop a:b", "--stop is for whichever process fires first: name processes by -p, or events by --where"},
		{"--signal QUIT --comm x a:b", "--signal is for whichever process fires first"},
		{"--stop --signal QUIT -p 1 a:b", "--stop and --signal exclude each other"},
		{"--stop -p 1 a:b", "--stop: process 1 is init, this process, or one"},
		{"--stop --user --where n==1 a:b", "--stop and --signal are done by the kernel at the probe"},
		{"--stop --fields pid --where n==1 a:b", "--stop and --fields exclude each other"},
		{"--signal QUIT --limit 1 --where n==1 a:b", "--signal and --limit exclude each other: the first N events get the signal by --signal NAME,N"},
		{"--stop --limit 1 --where n==1 a:b", "--stop and --limit exclude each other: --stop=N stops at the first N events"},
		{"--stop --from x --where n==1 a:b", "--stop is for live processes"},
		{"--stop=0 --where n==1 a:b", "want how many stops"},
		{"--stop=leave2 --where n==1 a:b", "want how many stops"},
		{"--stop=,2 --where n==1 a:b", "want how many stops"},
		{"--signal NO --where n==1 a:b", "want the name of a signal"},
		{"--signal QUIT,1025 --where n==1 a:b", "want a number from 1 to 1024"},
		{"count --stop --where n==1 a:b", "--stop is no flag of count"},
	} {
		var stdout, stderr strings.Builder
		out := bufio.NewWriter(&stdout)
		if code := run(t.Context(), strings.Fields(test.args), out, &stderr); code != exitUsage || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: exit code %d, %s", test.args, code, stderr.String())
		}
	}
}
