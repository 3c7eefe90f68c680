package interop_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/reader"
)

// patience is how long a test waits for what takes seconds on a machine that has nothing else to do.
const patience = 5 * time.Minute

// need skips the test where a tool or root is missing, which fails it in CI.
func need(t testing.TB, tools ...string) {
	t.Helper()
	needs.Root(t)
	needs.Tools(t, tools...)
	needs.Tracefs(t)
}

// start runs a program that writes a line when it is ready, and returns its
// PID and that line.
func start(t testing.TB, name string, args ...string) (pid int, line string) {
	t.Helper()
	p := tracee.StartVictim(t, exec.Command(name, args...))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s: %s", name, p.Stderr())
		}
	})
	return p.PID(), p.Line()
}

// until runs a tool until it has said enough, calls settle, interrupts the tool
// and returns what it had said.
func until(t testing.TB, cmd *exec.Cmd, enough func(said string) bool, settle func()) string {
	t.Helper()
	r, w, err := os.Pipe() // stdout and stderr in the order in which they are written
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	p := tracee.StartVictim(t, cmd)
	w.Close()
	defer time.AfterFunc(patience, func() { p.Signal(os.Kill) }).Stop()
	var said strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan() && !enough(said.String()); {
		said.WriteString(lines.Text() + "\n")
	}
	drained := make(chan struct{})
	go func() {
		io.Copy(io.Discard, r)
		close(drained)
	}()
	settle()
	p.Signal(os.Interrupt)
	<-drained
	return said.String()
}

// startHello starts examples/hello without cgo.
func startHello(t testing.TB) int {
	t.Helper()
	pid, _ := start(t, needs.Build(t, "examples/hello", "CGO_ENABLED=0"))
	return pid
}

// probe returns the only site of provider:name in a process.
func probe(t testing.TB, pid int, provider, name string) reader.Probe {
	t.Helper()
	p, err := reader.OpenProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for probe, err := range p.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		if probe.Provider == provider && probe.Name == name {
			return probe
		}
	}
	t.Fatalf("process %d has no probe %s:%s", pid, provider, name)
	return reader.Probe{}
}

// semaphore returns the current value of a live probe's semaphore.
func semaphore(t testing.TB, p reader.Probe) int {
	t.Helper()
	v, err := p.SemaphoreValue()
	if err != nil {
		t.Fatal(err)
	}
	return int(v)
}

// soon returns a context that is done when the test has waited far too long, so
// that the test fails and does not hang.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually fails the test unless cond becomes true in time. It is for actions
// of other processes, which do not report them.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not so within %v", what, patience)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
