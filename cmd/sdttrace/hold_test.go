package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// loader is a program that loads and unloads a library until its input ends,
// prints a line each time, and executes itself again now and then: in its first
// thread, in another one, or with other rights.
const loader = `
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void *execute(void *argv) {
	execv("/proc/self/exe", argv);
	_exit(1);
}
int main(int argc, char **argv) {
	if (strcmp(argv[1], "user") == 0 && getuid() == 0) {
		if (setgid(54321) != 0 || setuid(54321) != 0)
			return 1;
		return execv("/proc/self/exe", argv);
	}
	struct pollfd in = {0, POLLIN, 0};
	for (int i = 0; i < 5; i++) {
		void *library = dlopen(argv[argc - 1], RTLD_NOW);
		if (!library)
			return 1;
		((void (*)(int))dlsym(library, "held"))(i);
		dlclose(library);
		dprintf(2, "%200d\n", i);
		if (poll(&in, 1, 0) != 0)
			return 0;
	}
	pthread_t thread;
	if (strcmp(argv[1], "thread") != 0 || pthread_create(&thread, NULL, execute, argv) != 0)
		execute(argv);
	pthread_join(thread, NULL);
	return 1;
}`

// pipeSize is how many bytes a command may write that nobody reads: few.
const pipeSize = 4096

// held is sdttrace with a command that is held again and again.
type held struct {
	*tracee.Program
	stdin   io.Closer     // of the command
	said    *bufio.Reader // by the command, after remarks
	command int           // its PID
}

// buildHeld returns a directory with the loader and its library.
func buildHeld(t *testing.T) string {
	t.Helper()
	needs.C(t)
	dir := commands(t, "sdttrace")
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil { // for other users
			t.Fatal(err)
		}
	}
	library, program := filepath.Join(dir, "libheld.so"), filepath.Join(dir, "loader")
	for path, source := range map[string]string{
		library: "#include <sys/sdt.h>\nvoid held(int n) { DTRACE_PROBE1(held_again, hit, n); }", program: loader,
	} {
		if err := os.WriteFile(path+".c", []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	needs.Run(t, "gcc", "-O2", "-shared", "-fPIC", "-o", library, library+".c")
	needs.Run(t, "gcc", "-O2", "-o", program, program+".c", "-ldl", "-pthread")
	return dir
}

func startHeld(t *testing.T, dir, how string) *held {
	t.Helper()
	library, program := filepath.Join(dir, "libheld.so"), filepath.Join(dir, "loader")
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), "-q", "--json", "held_again:hit", "--", program, how, library)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, stdin, err := os.Pipe() // the command's input goes on when sdttrace is killed
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	said, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	t.Cleanup(func() { said.Close() })
	if _, err := unix.FcntlInt(said.Fd(), unix.F_SETPIPE_SZ, pipeSize); err != nil {
		t.Fatal(err)
	}
	if err := said.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stderr = in, stderr
	h := &held{Program: tracee.StartVictim(t, cmd), stdin: stdin, said: bufio.NewReader(said)}
	t.Cleanup(func() { stdin.Close() })
	h.command = h.event(t)
	return h
}

// event waits for an event and returns the id of its process.
func (h *held) event(t *testing.T) int {
	t.Helper()
	line, err := h.Next()
	var event struct{ PID int }
	if err == nil {
		err = json.Unmarshal([]byte(line), &event)
	}
	if err != nil {
		rest, _ := io.ReadAll(h.said)
		t.Fatalf("%q: %v\n%s", line, err, rest)
	}
	return event.PID
}

// stateOf returns the letter for a process's state.
func stateOf(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[:min(1, len(rest))]
}

// exitStatusOf returns the status, as wait gives it, of an ended process that
// nobody has waited for: the last number of its stat.
func exitStatusOf(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(b))
	return strings.Join(fields[max(0, len(fields)-1):], "")
}

// TestHeldKilled kills sdttrace at about the moments at which the command stands
// still: the command must go on.
func TestHeldKilled(t *testing.T) {
	rounds := 14 // at each of seven moments, once waiting for it
	if testing.Short() {
		rounds = 1 // a round takes seconds in an emulated machine
	}
	dir := buildHeld(t)
	for _, how := range []string{"first", "thread", "user"} {
		t.Run(how, func(t *testing.T) { testHeldKilled(t, dir, how, rounds) })
	}
}

func testHeldKilled(t *testing.T, dir, how string, rounds int) {
	for round := range rounds {
		h := startHeld(t, dir, how)
		for range round % 7 {
			h.event(t)
		}
		for deadline := time.Now().Add(time.Second); round%2 == 0 && stateOf(h.command) != "T" && time.Now().Before(deadline); {
			time.Sleep(20 * time.Microsecond) // the others need the processor
		}
		h.Kill()
		// Now only the command writes: after the pipe is emptied, more than fits
		// into it.
		drained := 0
		for drained < 4*pipeSize {
			line, err := h.said.ReadString('\n')
			if err != nil {
				t.Fatalf("round %d: the command is in state %q after %d bytes, exit status %s: %v", round, stateOf(h.command), drained, exitStatusOf(h.command), err)
			}
			drained += len(line)
		}
		h.stdin.Close()
		if _, err := io.Copy(io.Discard, h.said); err != nil {
			t.Errorf("round %d: the command does not end: %v", round, err)
		}
	}
}

// TestHeldStopped stops the command by somebody else's signal while it is held: it
// stays stopped until that sender lets it go on.
func TestHeldStopped(t *testing.T) {
	h := startHeld(t, buildHeld(t), "first")
	go func() { // otherwise the command would wait for the pipe
		for {
			if _, err := h.said.ReadString('\n'); err != nil {
				return
			}
		}
	}()
	signal := func(pid int, sig syscall.Signal) {
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	await := func(pid int) {
		for deadline := time.Now().Add(2 * time.Minute); stateOf(pid) != "T"; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d is in state %q", pid, stateOf(pid))
			}
		}
	}
	// goOn continues the command until stop is called, since sdttrace may be slow
	// to send SIGTSTP again: a SIGCONT before that is for a command that is not stopped
	// by it yet.
	goOn := func() (stop func()) {
		stopped := make(chan struct{})
		go func() {
			ticks := time.NewTicker(time.Second)
			defer ticks.Stop()
			for {
				syscall.Kill(h.command, syscall.SIGCONT)
				select {
				case <-stopped:
					return
				case <-t.Context().Done():
					return
				case <-ticks.C:
				}
			}
		}()
		return func() { close(stopped) }
	}
	h.event(t)
	for range 3 {
		signal(h.PID(), syscall.SIGSTOP)
		await(h.PID())
		await(h.command) // at the next library, since sdttrace does not answer
		signal(h.command, syscall.SIGTSTP)
		signal(h.PID(), syscall.SIGCONT)
		// Check for a while that nothing happens.
		for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); time.Sleep(20 * time.Microsecond) {
			if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.command)); err != nil || strings.Contains(string(status), "ShdPnd:\t0000000000000000\n") {
				await(h.command) // the command was let go, and stopped again
			}
		}
		await(h.command)
		stop := goOn()
		h.event(t)
		stop()
	}
	defer goOn()()
	h.stdin.Close()
	h.Rest()
	if err := h.End(); err != nil {
		t.Error(err)
	}
}
