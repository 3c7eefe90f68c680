package attach_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// awaitHeadless waits until the first thread of a process has ended.
func awaitHeadless(t *testing.T, pid int) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for shown := true; shown; {
		if time.Now().After(end) {
			t.Fatal("the first thread has not ended")
		}
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			t.Fatal(err)
		}
		shown = len(maps) > 0
	}
}

// startHeadless starts a program, whose file is path, that goes on when its first thread has ended.
func startHeadless(t *testing.T) (p *tracee.Program, path string) {
	t.Helper()
	needs.C(t)
	tracee.Alone(t, "headless")
	path = filepath.Join(t.TempDir(), "headless")
	needs.Run(t, "gcc", "-O1", "-o", path, "testdata/headless.c", "-pthread")
	p = start(t, exec.Command(path))
	p.Do("1")
	return p, path
}

// TestHeadlessExe checks that a process is selected by the file that it runs when its first thread has
// ended.
func TestHeadlessExe(t *testing.T) {
	p, path := startHeadless(t)
	s := open(t, path+":headless:hit", &attach.Options{Target: attach.Target{Exe: path}})
	p.Do("0")
	awaitHeadless(t, p.PID())
	_, err := attach.Open(t.Context(), []string{path + ":headless:hit"}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if want := fmt.Sprintf("its other threads can be traced by the file that they run: --exe %s --where 'pid == %d'", path, p.PID()); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("-p: got %v, want %q", err, want)
	}
	late := open(t, path+":headless:hit", &attach.Options{Target: attach.Target{Exe: path}, Where: fmt.Sprintf("pid == %d", p.PID())})
	p.Do("2")
	p.Do("3")
	if n := len(drain(t, late)); n != 2 {
		t.Errorf("that way gives %d events, want 2", n)
	}
	var got []any
	for _, ev := range drain(t, s) {
		got = append(got, ev.Args[0].Value)
	}
	if d := cmp.Diff([]any{int64(0), int64(2), int64(3)}, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	checkSum(t, s)
}

// TestHeadless checks that a process whose first thread has ended, and whose memory the
// kernel shows to nobody since, is not taken for one that has unmapped its files.
func TestHeadless(t *testing.T) {
	p, path := startHeadless(t)
	if err := os.Remove(path); err != nil { // a site of a file that has a name would not be left
		t.Fatal(err)
	}
	s := open(t, "headless:hit", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Rescan: time.Hour})
	machine := open(t, "headless:hit", &attach.Options{Rescan: time.Hour})
	p.Do("2")
	p.Do("0")
	awaitHeadless(t, p.PID())
	for range 4 {
		if err := errors.Join(s.Rescan(), machine.Rescan()); err != nil {
			t.Fatal(err)
		}
	}
	p.Do("3")
	check := func(s *attach.Session, of string, want []any) {
		if plan := s.Plan(); len(plan) != 1 || plan.Attached() != 1 {
			t.Errorf("%s: plan %+v, want one site", of, plan)
		}
		var got []any
		for _, ev := range drain(t, s) {
			got = append(got, ev.Args[0].Value)
		}
		if d := cmp.Diff(want, got[:min(len(got), len(want))]); d != "" {
			t.Errorf("%s: events (-want +got):\n%s", of, d)
		}
		checkSum(t, s)
	}
	want := []any{int64(2), int64(0), int64(3)}
	check(machine, "machine", want)
	if errors.Is(features.HaveBPFLinkUprobeMulti(), ebpf.ErrNotSupported) {
		want = want[:1] // perf events of a process end with the thread, see [attach.PerfLink]
	}
	check(s, "process", want)
}
