package attach_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// stopped reports whether all threads of a process stand still.
func stopped(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Contains(string(stat), ") T ")
}

// await waits until something is so.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so after two minutes: %s", what)
		}
	}
}

// TestStop stops as many processes as it is told of many that fire at the same time on all
// CPUs, at the events that it delivers, and has them go on.
func TestStop(t *testing.T) {
	path := compileC(t, "signals", "gcc", "-O2", "-no-pie")
	at := tracee.Symbol(t, path, "fired")
	for _, test := range []struct {
		name, where string
		times       int
		sample      int
		opts        attach.Options
	}{
		{"once", "arg0 >= 0", 0, 0, attach.Options{}},
		{"text", `arg1 == "text"`, 0, 0, attach.Options{}},
		{"three times", "arg0 >= 0", 3, 0, attach.Options{Strings: []string{"arg1"}}},
		{"sampled", "arg0 >= 0", 1, 10, attach.Options{Stack: 8}},
		{"perf", `arg1 == "text"`, 1, 0, attach.Options{Link: attach.PerfLink}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var programs []*tracee.Program
			for range 8 {
				programs = append(programs, start(t, exec.Command(path)).Ready())
			}
			opts := test.opts
			opts.Where = test.where
			what := &attach.EventOptions{Sample: test.sample, Signal: attach.Signal{Number: syscall.SIGSTOP, Times: test.times}}
			s := openEvents(t, path+":signals:tick", what, &opts)
			next, end := pull(s)
			events := map[int]event.Event{}
			for len(events) < max(1, test.times) {
				ev, err := next()
				if err != nil {
					t.Fatal(err)
				}
				events[ev.PID] = ev
			}
			for pid, ev := range events {
				await(t, "the process of an event stands still", func() bool { return stopped(pid) })
				var word [8]byte
				if err := procfs.ReadMemory(pid, at, word[:]); err != nil {
					t.Fatal(err)
				}
				if n := int64(binary.NativeEndian.Uint64(word[:])); ev.Args[0].Value != n {
					t.Errorf("process %d stands still at event %d, delivered was %v", pid, n, ev.Args[0].Value)
				}
			}
			// Others have fired, and go on firing.
			for _, p := range programs {
				if _, is := events[p.PID()]; !is {
					p.Do("")
					p.Do("")
				}
				if _, is := events[p.PID()]; is != stopped(p.PID()) {
					t.Errorf("process %d: event %v, stopped %v", p.PID(), is, stopped(p.PID()))
				}
			}
			end()
			if all := drain(t, s); len(all) > 0 {
				t.Errorf("%d more events", len(all))
			}
			if st := checkSum(t, s); st.Received != uint64(len(events)) || st.Filtered == 0 {
				t.Errorf("stats %+v of %d events", st, len(events))
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for _, p := range programs {
				if p.Do(""); stopped(p.PID()) {
					t.Errorf("process %d still stands still", p.PID())
				}
			}
		})
	}
}

// TestSignal sends SIGUSR1 as often as it is told, to a program that counts it and to ones
// that ignore or block it.
func TestSignal(t *testing.T) {
	path := compileC(t, "signals", "gcc", "-O2", "-no-pie")
	for how, want := range map[string]string{"count": "5", "ignore": "0", "block": "0"} {
		p := start(t, exec.Command(path, how)).Ready()
		s := openEvents(t, "signals:tick", &attach.EventOptions{Signal: attach.Signal{Number: syscall.SIGUSR1, Times: 5}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		next, end := pull(s)
		for range 5 {
			if _, err := next(); err != nil {
				t.Fatal(err)
			}
		}
		end()
		if got := p.Do(""); got != want {
			t.Errorf("%s: %s signals, want %s", how, got, want)
		}
		if all := drain(t, s); len(all) > 0 {
			t.Errorf("%s: %d more events", how, len(all))
		}
		s.Close()
	}
}

func init() { roles["signal"] = tracee.Obey(signalChild()) }

// signalChild loads a probe, or fires it.
func signalChild() func(string) error {
	go waitsHere()
	p := provider.New("signal", nil)
	probe := provider.NewProbe2[int, string](p, "done", "n", "path")
	return func(command string) error {
		if command == "load" {
			return p.Load()
		}
		probe.Fire(7, "/")
		return nil
	}
}

//go:noinline
func waitsHere() { select {} }

// TestSignalLate stops a process at a site that is found later. With Leave it stays stopped.
func TestSignalLate(t *testing.T) {
	for _, leave := range []bool{false, true} {
		p := startChild(t, "signal")
		s := openEvents(t, "signal:done", &attach.EventOptions{Signal: attach.Signal{Number: syscall.SIGSTOP, Leave: leave}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Await: true, Rescan: 10 * time.Millisecond, Where: `path == "/"`})
		p.Do("load")
		await(t, "the probe is attached to", func() bool { return s.Plan().Attached() == 1 })
		p.Send("fire")
		await(t, "the process stands still", func() bool { return stopped(p.PID()) })
		if all := drain(t, s); len(all) != 1 || all[0].Args[0].Value != int64(7) {
			t.Errorf("events %v", all)
		}
		s.Close()
		if leave {
			time.Sleep(10 * time.Millisecond)
			if !stopped(p.PID()) {
				t.Error("the process was let go on, against Leave")
			}
			p.Signal(syscall.SIGCONT)
		}
		if line := p.Line(); line != "done" {
			t.Errorf("the process says %q", line)
		}
	}
}

// TestSignalDump has a Go program print its goroutines at the event.
func TestSignalDump(t *testing.T) {
	p := startChild(t, "signal")
	p.Do("load")
	s := openEvents(t, "signal:done", &attach.EventOptions{Signal: attach.Signal{Number: syscall.SIGQUIT}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Send("fire")
	if _, err := p.Next(); err == nil {
		t.Error("the program went on behind the event")
	}
	if err := p.End(); err == nil || !strings.Contains(err.Error(), "SIGQUIT") || !strings.Contains(err.Error(), "waitsHere(") {
		t.Errorf("the program ended by %v, want its goroutines", err)
	}
	if all := drain(t, s); len(all) != 1 {
		t.Errorf("%d events, want 1", len(all))
	}
}

// TestSignalSpared fires in this process, which is never sent a signal, nor are its ancestors.
func TestSignalSpared(t *testing.T) {
	p := provider.New("spared", nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewProbe1[int](p, "done", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	s := openEvents(t, "spared:done", &attach.EventOptions{Signal: attach.Signal{Number: syscall.SIGKILL}}, &attach.Options{Where: "n == 7"})
	probe.Fire(7)
	if all := drain(t, s); len(all) > 0 {
		t.Errorf("%d events", len(all))
	}
	if st := checkSum(t, s); st.Fired != 1 || st.Filtered != 1 {
		t.Errorf("stats %+v of an event that was spared", st)
	}
	for _, pid := range []int{1, os.Getpid(), os.Getppid()} {
		var option *attach.OptionError
		_, err := attach.OpenEvents(t.Context(), []string{"spared:done"}, &attach.EventOptions{Signal: attach.Signal{Number: syscall.SIGUSR1}}, &attach.Options{Target: attach.Target{PIDs: []int{pid}}})
		if !errors.As(err, &option) || option.Option != "Signal" {
			t.Errorf("process %d: got error %v, want one in Signal", pid, err)
		}
	}
}

// TestSignalRefused checks that signals are refused where nobody chose whom they reach, or
// nobody can send them in time.
func TestSignalRefused(t *testing.T) {
	usr1 := attach.Signal{Number: syscall.SIGUSR1}
	for _, test := range []struct {
		signal attach.Signal
		opts   attach.Options
	}{
		{usr1, attach.Options{}},
		{usr1, attach.Options{Target: attach.Target{Comm: "x"}}},
		{attach.Signal{Times: 2}, attach.Options{Where: "n == 1"}},
		{attach.Signal{Number: 65}, attach.Options{Where: "n == 1"}},
		{attach.Signal{Number: -1}, attach.Options{Where: "n == 1"}},
		{attach.Signal{Number: 9, Times: attach.MaxSignals + 1}, attach.Options{Where: "n == 1"}},
		{usr1, attach.Options{Where: "n == 1", Target: attach.Target{Recordings: []string{"x"}}}},
		{usr1, attach.Options{Where: "n == 1", Target: attach.Target{Via: attach.ViaLocal}}},
		{usr1, attach.Options{Where: "n == 1", Target: attach.Target{Via: attach.ViaBoth}}},
	} {
		var option *attach.OptionError
		if err := (&attach.EventOptions{Signal: test.signal}).Validate(&test.opts); !errors.As(err, &option) || option.Option != "Signal" {
			t.Errorf("%+v: got error %v, want one in Signal", test, err)
		}
	}
}

// TestLetGo has a process that holds the map of a session let go on what the session has stopped.
func TestLetGo(t *testing.T) {
	path := compileC(t, "signals", "gcc", "-O2", "-no-pie")
	p := start(t, exec.Command(path)).Ready()
	var held *ebpf.Map
	openEvents(t, "signals:tick", &attach.EventOptions{Signal: attach.Signal{
		Number: syscall.SIGSTOP, Times: 5, Guard: func(m *ebpf.Map) (err error) { held, err = m.Clone(); return err },
	}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	defer held.Close()
	await(t, "the process stands still", func() bool { return stopped(p.PID()) })
	if err := attach.LetGo(held); err != nil {
		t.Fatal(err)
	}
	p.Do("") // it fires, and is not stopped again
	p.Do("")
}
