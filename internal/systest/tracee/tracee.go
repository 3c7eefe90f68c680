// Package tracee runs the programs of tests: tracees, which are inspected and traced,
// and tracers. A program answers each line of its input with a line of
// output, and ends with its input. A test binary can be such a program itself, in
// a role, see [Run]; a test can run once more in a process of its own, see [Again].
package tracee

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Program is a running program. Its input and output are the test's, unless the
// command redirects them.
type Program struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr Output
	killed atomic.Bool
	wait   func() error
}

// patience is how long a program may take to end.
const patience = time.Minute

// Start starts a program that must succeed: its input ends at the end of the
// test, and the test fails if the program fails or has to be killed.
func Start(t testing.TB, cmd *exec.Cmd) *Program {
	t.Helper()
	p := begin(t, cmd)
	t.Cleanup(func() {
		if err := p.End(); err != nil && !p.killed.Load() {
			t.Errorf("%s: %v", cmd.Path, err)
		}
	})
	return p
}

// StartVictim starts a program that the end of the test kills, whatever it does
// by then.
func StartVictim(t testing.TB, cmd *exec.Cmd) *Program {
	t.Helper()
	p := begin(t, cmd)
	t.Cleanup(p.Kill)
	return p
}

// StartMany starts n programs as StartVictim does. They answer a line, so that their
// files are mapped.
func StartMany(t testing.TB, path string, n int) (programs []*Program, pids []int) {
	t.Helper()
	for range n {
		p := StartVictim(t, exec.Command(path))
		p.Do("")
		programs, pids = append(programs, p), append(pids, p.PID())
	}
	return programs, pids
}

// noInput is the input of programs whose commands redirect it.
var noInput io.WriteCloser = struct {
	io.Writer
	io.Closer
}{io.Discard, io.NopCloser(nil)}

func begin(t testing.TB, cmd *exec.Cmd) *Program {
	t.Helper()
	p := &Program{t: t, cmd: cmd}
	var err error
	if p.in = noInput; cmd.Stdin == nil {
		if p.in, err = cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	var out io.Reader = strings.NewReader("")
	if cmd.Stdout == nil {
		if out, err = cmd.StdoutPipe(); err != nil {
			t.Fatal(err)
		}
	}
	p.out = bufio.NewReader(out)
	if cmd.Stderr == nil {
		cmd.Stderr = &p.stderr
	}
	// A process that outlives the program and holds its standard error must not hang the test.
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.wait = sync.OnceValue(func() error {
		err := cmd.Wait()
		if said := p.stderr.String(); err != nil && said != "" {
			err = fmt.Errorf("%w\n%s", err, said)
		}
		return err
	})
	return p
}

// Ready waits until the program says "ready", and returns the program.
func (p *Program) Ready() *Program {
	p.t.Helper()
	if line := p.Line(); line != "ready" {
		p.t.Fatalf("%s says %q, want ready", p.cmd.Path, line)
	}
	return p
}

// PID returns the program's process id.
func (p *Program) PID() int { return p.cmd.Process.Pid }

// Stderr returns what the program has written to its standard error.
func (p *Program) Stderr() *Output { return &p.stderr }

// Next returns the next line of the program's output, without its end. The error
// is [io.EOF] if there is none.
func (p *Program) Next() (string, error) {
	line, err := p.out.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// Line returns the next line of the program's output. The test fails if there is
// none.
func (p *Program) Line() string {
	p.t.Helper()
	line, err := p.Next()
	if err != nil {
		p.t.Fatalf("%s: %v", p.cmd.Path, errors.Join(err, p.End()))
	}
	return line
}

// Rest returns what the program writes until it ends, or closes its output.
func (p *Program) Rest() string {
	p.t.Helper()
	rest, err := io.ReadAll(p.out)
	if err != nil {
		p.t.Fatalf("%s: %v", p.cmd.Path, err)
	}
	return string(rest)
}

// Send sends the program a line.
func (p *Program) Send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.t.Fatalf("%s: %v", p.cmd.Path, errors.Join(err, p.End()))
	}
}

// Do sends the program a line and returns its answer.
func (p *Program) Do(format string, args ...any) string {
	p.t.Helper()
	p.Send(format, args...)
	return p.Line()
}

// Signal sends the program a signal, unless it has ended.
func (p *Program) Signal(sig os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("%s: %v", p.cmd.Path, err)
	}
}

// EndInput ends the program's input.
func (p *Program) EndInput() { p.in.Close() }

// End ends the program's input and waits until the program has ended. Its error
// contains what the program wrote to stderr. Later calls return the same error.
func (p *Program) End() error {
	p.in.Close()
	kill := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	return p.wait()
}

// Kill kills the program, if it has not ended, and waits until it has: by then
// the kernel has detached what the program attached.
func (p *Program) Kill() {
	p.killed.Store(true)
	p.cmd.Process.Kill()
	p.wait()
}
