package attach_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// roles are the programs that this test binary can be. Most obey commands.
var roles = tracee.Roles{}

func TestMain(m *testing.M) {
	tracee.Run(roles)
	skipExamples()
	os.Exit(leftover.Run(m))
}

// skipExamples leaves out the examples, which cannot skip themselves, if this
// process may not attach. In CI they run, and fail.
func skipExamples() {
	s, err := attach.Open(context.Background(), []string{"/proc/self/exe:no:probe"}, &attach.Options{Target: attach.Target{Via: attach.ViaKernel}, Await: true, Rescan: time.Hour})
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

// start starts a program that answers every line of its input with one. It
// ends with the test.
func start(t testing.TB, cmd *exec.Cmd) *tracee.Program {
	t.Helper()
	return tracee.StartVictim(t, cmd)
}

// startChild starts this binary in one of roles.
func startChild(t testing.TB, name string) *tracee.Program {
	t.Helper()
	return start(t, tracee.Self(name))
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
	return openEvents(t, selector, nil, opts)
}

func openEvents(t testing.TB, selector string, what *attach.EventOptions, opts *attach.Options) *attach.Session {
	t.Helper()
	s, err := attach.OpenEvents(t.Context(), []string{selector}, what, by(t, opts))
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
