package attach_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// child is the environment variable that makes this test binary a traced
// program: its value names one of children.
const child = "ATTACH_TEST_CHILD"

var children = map[string]func(command string) error{}

func TestMain(m *testing.M) {
	run, ok := children[os.Getenv(child)]
	if !ok {
		skipExamples()
		os.Exit(leftover.Run(m))
	}
	if err := obey(os.Stdin, os.Stdout, run); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// skipExamples leaves out the examples, which cannot skip themselves, where this
// process may not attach. In CI they run, and fail.
func skipExamples() {
	s, err := attach.Open(context.Background(), []string{"/proc/self/exe:no:probe"}, &attach.Options{Await: true, Rescan: time.Hour})
	if err == nil {
		s.Close()
	}
	if p := (*attach.PrivilegeError)(nil); !errors.As(err, &p) || os.Getenv("CI") == "true" {
		return
	}
	flag.Parse()
	if skip := flag.Lookup("test.skip"); skip.Value.String() == "" {
		fmt.Fprintf(os.Stderr, "no examples: %v\n", err)
		skip.Value.Set("^Example")
	}
}

// obey runs a command for each line of in and answers each with a line.
func obey(in io.Reader, out io.Writer, run func(string) error) error {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if err := run(lines.Text()); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, "done"); err != nil {
			return err
		}
	}
	return nil
}

// program is a traced program under the test's control.
type program struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	end func() error
}

// start starts a program that answers every line of its input with one. It
// ends with the test.
func start(t testing.TB, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{t: t, cmd: cmd}
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
	var waited atomic.Bool
	p.end = func() error {
		if waited.Swap(true) {
			return nil
		}
		p.in.Close()
		err := cmd.Wait()
		if stderr.Len() > 0 {
			err = errors.Join(err, errors.New(stderr.String()))
		}
		return err
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		p.end()
	})
	return p
}

// startChild starts this binary as one of children.
func startChild(t testing.TB, name string) *program {
	t.Helper()
	return start(t, childCommand(name))
}

func childCommand(name string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	// The race detector's programs sleep for a second before they exit.
	cmd.Env = append(os.Environ(), child+"="+name, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	return cmd
}

func (p *program) pid() int { return p.cmd.Process.Pid }

// do has the program run a command and waits until it has.
func (p *program) do(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.t.Fatalf("traced program: %v (%v)", err, p.end())
	}
	if _, err := p.out.ReadString('\n'); err != nil {
		p.t.Fatalf("traced program after %q: %v (%v)", fmt.Sprintf(format, args...), err, p.end())
	}
}

// needPrivileges skips the test if this process may not attach; in CI it fails.
func needPrivileges(t testing.TB, err error) {
	t.Helper()
	if p := (*attach.PrivilegeError)(nil); errors.As(err, &p) {
		needs.Skip(t, "%v", err)
	}
}

func open(t testing.TB, selector string, opts *attach.Options) *attach.Session {
	t.Helper()
	s, err := attach.Open(t.Context(), []string{selector}, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// drain detaches and returns the events that have fired.
func drain(t testing.TB, s *attach.Session) []event.Event {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	var all []event.Event
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	return all
}

func checkSum(t testing.TB, s interface{ Stats() (attach.Stats, error) }) attach.Stats {
	t.Helper()
	st, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if sum := st.Received + st.Lost + st.Filtered + st.Missed + st.Unread; st.Fired != sum {
		t.Errorf("fired %d, but received+lost+filtered+missed+unread = %d: %+v", st.Fired, sum, st)
	}
	return st
}

var optimizesNop5 = sys.UprobeOptimization() == sys.OptimizesNop5

// pull turns the events of a session into calls.
func pull(s *attach.Session) (next func() (event.Event, error), stop func()) {
	n, stop := iter.Pull2(s.Events())
	return func() (event.Event, error) {
		ev, err, ok := n()
		if !ok {
			err = io.EOF
		}
		return ev, err
	}, stop
}
