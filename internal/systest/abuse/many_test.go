package abuse_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

func pidOptions(p *process) *attach.Options {
	return &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
}

// TestManyProviders traces a hundred providers of one process at once.
func TestManyProviders(t *testing.T) {
	needs.Root(t)
	const n = 100
	var probes [n]*provider.Probe1[int]
	var providers [n]*provider.Provider
	for i := range n {
		providers[i] = provider.New(fmt.Sprintf("many%d", i), nil)
		probes[i] = provider.NewProbe1[int](providers[i], "hit", "i")
		if err := providers[i].Load(); err != nil {
			t.Fatal(err)
		}
		defer providers[i].Close()
	}
	s, err := attach.Open(t.Context(), []string{"many*:hit"}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, p := range probes {
		p.Fire(i)
	}
	checkNumbered(t, s, n, func(i int) string { return fmt.Sprintf("many%d:hit", i) })
	for _, p := range providers {
		if p.Enabled() {
			t.Error("a provider is still watched")
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// checkNumbered ends a session and checks that it has n events. The argument of
// each is a number, for which name returns the event's probe.
func checkNumbered(t *testing.T, s *attach.Session, n int, name func(i int) string) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	i := 0
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if got := ev.Provider + ":" + ev.Name; got != name(i) || ev.Args[0].Value != int64(i) {
			t.Fatalf("event %d is of %s with %v, want it of %s", i, got, ev.Args, name(i))
		}
		i++
	}
	if i != n {
		t.Errorf("%d events, want %d", i, n)
	}
	finish(t, s)
}

// TestManyLoads traces the probes of 1,000 Loads of one provider. The tracer
// attaches to the first hundred before the others are loaded.
func TestManyLoads(t *testing.T) {
	needs.Root(t)
	const n, early = 1000, 100
	p := provider.New("loading", nil)
	defer p.Close()
	open := func() *attach.Session {
		s, err := attach.Open(t.Context(), []string{"loading:*"}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var probes []*provider.Probe1[int]
	var first *attach.Session
	for i := range n {
		if i == early {
			first = open()
			defer first.Close()
		}
		probes = append(probes, provider.NewProbe1[int](p, fmt.Sprint("probe", i), "i"))
		if err := p.Load(); err != nil {
			t.Fatal(err)
		}
	}
	if objects := descriptorsOf(t, "usdt:loading"); objects > 20 {
		t.Errorf("%d objects of %d Loads", objects, n)
	}
	second := open()
	defer second.Close()
	if sites := len(second.Plan()); sites != n {
		t.Errorf("%d sites, want %d", sites, n)
	}
	for i, probe := range probes {
		probe.Fire(i)
	}
	for s, want := range map[*attach.Session]int{first: early, second: n} {
		checkNumbered(t, s, want, func(i int) string { return fmt.Sprint("loading:probe", i) })
	}
	// Nobody watches: the next Load may move all probes.
	provider.NewProbe0(p, "last")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	if p.Enabled() {
		t.Error("the provider is still watched")
	}
}

// descriptorsOf counts this process's descriptors of memory files of that name.
func descriptorsOf(t *testing.T, name string) (n int) {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, _ := os.Readlink(fd); strings.HasPrefix(target, "/memfd:"+name+" ") {
			n++
		}
	}
	return n
}

// TestManyProcesses attaches once to a file that 1,000 processes share.
func TestManyProcesses(t *testing.T) {
	needs.Root(t)
	const n = 1000
	dir := filepath.Join(t.TempDir(), "objects")
	hold, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer release.Close()
	ready, say, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	cmds := make([]*exec.Cmd, 0, n)
	defer func() {
		for _, cmd := range cmds {
			cmd.Process.Kill()
			cmd.Wait()
		}
	}()
	for range n {
		cmd := exec.Command(victimPath, "once")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = hold, say, os.Stderr
		cmd.Env = append(os.Environ(), "USDT_BACKING=file", "USDT_DIR="+dir, "GOMAXPROCS=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	hold.Close()
	say.Close()
	if err := ready.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	for got, b := 0, make([]byte, 4096); got < n*len("ready\n"); {
		k, err := ready.Read(b)
		if err != nil {
			t.Fatalf("%d bytes of the victims' answers: %v", got, err)
		}
		got += k
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("objects %v, want one for each of two providers (%v)", files, err)
	}

	s, err := attach.Open(t.Context(), []string{files[0] + ":*:hit", files[1] + ":*:hit"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if sites := len(s.Plan()); sites != 2 {
		t.Errorf("%d sites of %d processes, want one for each provider", sites, n)
	}
	release.Close() // each fires thrice and ends
	var errs []error
	for _, cmd := range cmds {
		errs = append(errs, cmd.Wait())
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	mine := map[int]int{}
	for _, cmd := range cmds {
		mine[cmd.Process.Pid] = 0
	}
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := mine[ev.PID]; ok {
			mine[ev.PID]++
		}
	}
	for pid, events := range mine {
		if events != 3*len(selectors) {
			t.Errorf("%d events of process %d, want %d", events, pid, 3*len(selectors))
		}
	}
	if st := finish(t, s); st.Lost != 0 {
		t.Errorf("%d events lost", st.Lost)
	}
}
