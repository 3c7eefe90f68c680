// Package tracee runs the programs that tests look at and trace. A program
// answers each line of its input by one of its output, and ends with its input.
package tracee

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Program is a program that runs.
type Program struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	wait func() error
}

// patience is how long a program may take to end.
const patience = 20 * time.Second

// Start starts a program, whose end is the test's: one that fails then, or has
// to be killed, fails the test.
func Start(t testing.TB, cmd *exec.Cmd) *Program {
	t.Helper()
	p := &Program{t: t, cmd: cmd}
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.wait = sync.OnceValue(func() error {
		err := cmd.Wait()
		if err != nil && stderr.Len() > 0 {
			err = fmt.Errorf("%w\n%s", err, stderr.String())
		}
		return err
	})
	t.Cleanup(func() {
		if err := p.End(); err != nil {
			t.Errorf("%s: %v", cmd.Path, err)
		}
	})
	return p
}

// StartReady starts a program and waits until it says "ready".
func StartReady(t testing.TB, cmd *exec.Cmd) *Program {
	t.Helper()
	p := Start(t, cmd)
	if line := p.Line(); line != "ready" {
		t.Fatalf("%s says %q, want ready", cmd.Path, line)
	}
	return p
}

// PID returns the program's process id.
func (p *Program) PID() int { return p.cmd.Process.Pid }

// Line returns the next line of the program's output.
func (p *Program) Line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%s: %v", p.cmd.Path, errors.Join(err, p.End()))
	}
	return strings.TrimSuffix(line, "\n")
}

// Do has the program obey a line and returns its answer.
func (p *Program) Do(format string, args ...any) string {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.t.Fatalf("%s: %v", p.cmd.Path, errors.Join(err, p.End()))
	}
	return p.Line()
}

// End ends the program's input and waits until the program has ended. Its error
// has what the program wrote to stderr. Later calls return the same.
func (p *Program) End() error {
	p.in.Close()
	kill := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	return p.wait()
}
