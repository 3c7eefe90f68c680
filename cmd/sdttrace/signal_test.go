package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/pty"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/provider"
)

// answering is a program that prints which signals it gets and goes on, and fires
// signaltest:alive.
func answering() {
	p := provider.New("signaltest", nil)
	alive := provider.NewProbe1[uint64](p, "alive", "n")
	if err := p.Load(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	fmt.Println("answering")
	for n := uint64(0); ; n++ {
		select {
		case sig := <-signals:
			fmt.Println("answering to", sig)
		case <-time.After(3 * time.Millisecond):
			alive.Fire(n)
		}
	}
}

// dispositions is a program that shows how it takes signals.
func dispositions() {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "SigBlk:") {
			fmt.Print(line)
		}
	}
	// The runtime has installed handlers by now, but keeps these signals ignored
	// if they were.
	fmt.Println("ignored:", signal.Ignored(syscall.SIGINT), signal.Ignored(syscall.SIGHUP))
}

// ignoring runs the command in its arguments with signals ignored and blocked.
func ignoring() {
	runtime.LockOSThread()
	signal.Ignore(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE)
	var set unix.Sigset_t
	set.Val[0] = 1<<(unix.SIGPIPE-1) | 1<<(unix.SIGUSR1-1) | 1<<(unix.SIGTERM-1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil); err != nil {
		panic(err)
	}
	panic(syscall.Exec(os.Args[1], os.Args[1:], os.Environ()))
}

// TestCommandDispositions checks that a command does not inherit ignored or
// blocked signals, neither from sdttrace nor from its parent.
func TestCommandDispositions(t *testing.T) {
	dir := commands(t, "sdttrace", "dispositions", "ignoring")
	for _, before := range [][]string{nil, {filepath.Join(dir, "ignoring")}} {
		args := append(before, filepath.Join(dir, "sdttrace"), "signaltest:none", "--")
		out, err := exec.Command(args[0], append(args[1:], filepath.Join(dir, "dispositions"))...).CombinedOutput()
		if strings.Contains(string(out), "not allowed") {
			needs.Skip(t, "%s", out)
		}
		for _, want := range []string{"SigBlk:\t0000000000000000\n", "ignored: false false\n"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q: got %q (%v), want %q in it", args, out, err, want)
			}
		}
		// A shell passes on an ignored SIGPIPE; by default the signal ends a
		// writer.
		shell := `kill -PIPE $$; echo survived`
		out, err = exec.Command(args[0], append(args[1:], "sh", "-c", shell)...).CombinedOutput()
		if strings.Contains(string(out), "survived") {
			t.Errorf("%q: got %q (%v), want that SIGPIPE ends the shell", args, out, err)
		}
	}
}

// TestTerminalInterrupts presses Ctrl-C on a terminal again and again. The first
// is for the command alone, which goes on and is traced; the next ones end it.
func TestTerminalInterrupts(t *testing.T) {
	dir := commands(t, "sdttrace", "answering")
	master, slave := pty.Open(t)
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), "signaltest:alive", "--", filepath.Join(dir, "answering"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	var stdout, stderr tracee.Output
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill()
	fired := func() int { return strings.Count(stdout.String(), "signaltest:alive") }
	stdout.AwaitTrying(t, "signaltest:alive", func() { skipRefused(t, &stderr) })
	press := func() {
		if _, err := master.Write([]byte{3}); err != nil {
			t.Fatal(err)
		}
	}
	press()
	stderr.Await(t, "Ctrl-C again terminates it")
	stderr.Await(t, "answering to interrupt")
	for more := fired() + 10; fired() < more; time.Sleep(time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("sdttrace has ended, %v: %s", err, &stderr)
		default:
		}
	}
	if got := stderr.String(); strings.Contains(got, "terminated") || strings.Count(got, "answering to") != 1 {
		t.Errorf("one Ctrl-C gave the command %q, want one interrupt", got)
	}
	stderr.AwaitTrying(t, "is asked to end by SIGTERM", press)
	stderr.Await(t, "answering to terminated")
	stderr.AwaitTrying(t, "attached 1 of 1 site", press)
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
	if got := stderr.String(); !regexp.MustCompile(`(?m)^sdttrace: [0-9]+ events?, .* attached 1 of 1 site$`).MatchString(got) {
		t.Errorf("the results of a killed command are %q", got)
	}
}

// TestTerminate checks that SIGTERM goes to the command, which may take its time.
func TestTerminate(t *testing.T) {
	dir := commands(t, "sdttrace", "answering")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		cmd := exec.Command(filepath.Join(dir, "sdttrace"), "signaltest:alive", "--", filepath.Join(dir, "answering"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it has no terminal
		var stdout, stderr tracee.Output
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stdout.AwaitTrying(t, "signaltest:alive", func() { skipRefused(t, &stderr) })
		cmd.Process.Signal(sig)
		stderr.Await(t, fmt.Sprint("answering to ", sig))
		before := strings.Count(stdout.String(), "\n")
		for strings.Count(stdout.String(), "\n") < before+10 {
			time.Sleep(time.Millisecond)
		}
		stderr.AwaitTrying(t, "attached 1 of 1 site", func() { cmd.Process.Signal(syscall.SIGTERM) })
		if err := cmd.Wait(); err != nil || !strings.Contains(stderr.String(), "attached 1 of 1 site") {
			t.Errorf("%v: it ends with %v and %s", sig, err, &stderr)
		}
	}
}

// TestSignalTwice ends sdttrace as timeout(1) does, which sends a signal to it
// and then to its group.
func TestSignalTwice(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	pid := fmt.Sprint(startTraced(t, dir, "twice").PID())
	runs := 50
	if testing.Short() {
		runs = 5
	}
	sdttrace := filepath.Join(dir, "sdttrace")
	if err := signalTwice(sdttrace, pid); err != nil && strings.Contains(err.Error(), "not allowed") {
		needs.Skip(t, "%v", err)
	}
	var group sync.WaitGroup
	for range 5 { // mostly waiting for the kernel
		group.Go(func() {
			for range runs / 5 {
				if err := signalTwice(sdttrace, pid); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// signalTwice ends a session by two signals, and returns why it has no results. It tries
// again where the second signal may have come much later: that one ends the session at once.
func signalTwice(sdttrace, pid string) error {
	cmd := exec.Command(sdttrace, "count", "-p", pid, "twice:tick")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	said := bufio.NewReader(stderr)
	line, err := said.ReadString('\n')
	if err != nil || !strings.Contains(line, "attached to 1 of 1") {
		cmd.Process.Kill()
		cmd.Wait()
		return fmt.Errorf("got %q, %w", line, err)
	}
	begin := time.Now()
	cmd.Process.Signal(syscall.SIGTERM)
	syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	rest, _ := io.ReadAll(said)
	err = cmd.Wait()
	if cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() && time.Since(begin) > interrupt.SameInstant {
		return signalTwice(sdttrace, pid)
	}
	if err != nil || !strings.Contains(string(rest), "attached 1 of 1 site\n") {
		return fmt.Errorf("it ends with %v and says %q", err, rest)
	}
	return nil
}

// TestRecordInterrupted ends a recording by Ctrl-C and by SIGTERM: the file is whole, and the
// summary says what it has.
func TestRecordInterrupted(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	pid := fmt.Sprint(startTraced(t, dir, "ending").PID())
	sdttrace := filepath.Join(dir, "sdttrace")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		path := filepath.Join(t.TempDir(), "events.usdt")
		cmd := exec.Command(sdttrace, "record", "-o", path, "--stack", "-p", pid, "ending:tick")
		var stderr tracee.Output
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		grown := func() bool {
			info, err := os.Stat(path)
			return err == nil && info.Size() > 5000
		}
		for deadline := time.Now().Add(time.Minute); !grown(); time.Sleep(time.Millisecond) {
			if skipRefused(t, &stderr); time.Now().After(deadline) {
				cmd.Process.Kill()
				t.Fatalf("%s does not grow: %s", path, &stderr)
			}
		}
		cmd.Process.Signal(sig)
		err := cmd.Wait()
		said := regexp.MustCompile(`(?m)^sdttrace: wrote [0-9]+ bytes to .*\nsdttrace: ([0-9]+) events?, 0 lost, 0 filtered(, [0-9]+ unread)?; attached 1 of 1 site$`).FindStringSubmatch(stderr.String())
		if err != nil || said == nil {
			t.Errorf("%v: it ends with %v and says %s", sig, err, &stderr)
			continue
		}
		f, err := tracefile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n := 0
		for rec, err := range f.Records() {
			if n++; err != nil || f.Stack(binary.LittleEndian.Uint64(rec[len(rec)-8:])) == nil {
				t.Fatalf("%v: event %d has no stack, %v", sig, n, err)
			}
		}
		if !f.Ended || f.Torn+f.Damaged != 0 || fmt.Sprint(n) != said[1] {
			t.Errorf("%v: the file ended: %v, with %d events, %d bytes torn, %d damaged; want %s events", sig, f.Ended, n, f.Torn, f.Damaged, said[1])
		}
	}
}
