package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/list"
	"github.com/go-usdt/usdt/internal/program"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/internal/watch"
)

// listed returns what list prints of the probe NAME:tick of a process, as JSON.
func listed(t *testing.T, pid int, provider string) list.Probe {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), []string{"list", "--json", "-p", fmt.Sprint(pid), provider + ":tick"}, &stdout, &stderr); code != exitDone {
		t.Fatalf("list: exit code %d: %s", code, &stderr)
	}
	var p list.Probe
	if err := json.Unmarshal(stdout.Bytes(), &p); err != nil {
		t.Fatalf("%v: %s", err, &stdout)
	}
	return p
}

// awaitWatchers lists until the watchers are those in want.
func awaitWatchers(t *testing.T, pid int, provider string, want ...watch.Watcher) {
	t.Helper()
	var got []watch.Watcher
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		got = listed(t, pid, provider).Watchers
		for i := range got {
			got[i].Link = 0 // any
			if got[i].PID != 0 && len(got[i].Comm) == 0 {
				t.Fatalf("%+v has no name", got[i])
			}
		}
		has := func(w watch.Watcher) bool {
			return slices.ContainsFunc(got, func(g watch.Watcher) bool {
				return g == w || w.Kind == "" && g.PID == w.PID && g.Comm == w.Comm
			})
		}
		if len(got) == len(want) && !slices.ContainsFunc(want, func(w watch.Watcher) bool { return !has(w) }) {
			return
		}
	}
	t.Fatalf("list shows the watchers %+v, want %+v", got, want)
}

// TestWatchers checks that list names the watchers: this command by both kinds of
// links, several at once, and none when they have gone.
func TestWatchers(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	const provider = "watched"
	pid := startTraced(t, dir, provider).PID()
	awaitWatchers(t, pid, provider)
	sdttrace := filepath.Join(dir, "sdttrace")
	first, stopFirst := startTracer(t, sdttrace, "-p", fmt.Sprint(pid), provider+":tick")
	awaitWatchers(t, pid, provider, watch.Watcher{PID: first, Comm: "sdttrace"})
	second, stopSecond := startTracer(t, sdttrace, "count", "--link", "perf", provider+":tick")
	awaitWatchers(t, pid, provider, watch.Watcher{PID: first, Comm: "sdttrace"}, watch.Watcher{Kind: "perf_event", PID: second, Comm: "sdttrace"})

	var stdout, stderr bytes.Buffer
	run(context.Background(), []string{"list", "-p", fmt.Sprint(pid), provider + "*:*"}, &stdout, &stderr)
	lines := strings.Split(stdout.String(), "\n")
	tick := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, ":tick ") })
	if text := lines[tick]; !strings.Contains(text, fmt.Sprintf("sdttrace/%d", first)) || !strings.Contains(text, fmt.Sprintf("sdttrace/%d", second)) {
		t.Errorf("list prints %s", &stdout)
	}
	if strings.Count(stdout.String(), "sdttrace/") != 4 || stderr.Len() > 0 { // in the summary as well
		t.Errorf("list prints %s and says %s, want two watchers of one probe", &stdout, &stderr)
	}
	stopFirst()
	awaitWatchers(t, pid, provider, watch.Watcher{Kind: "perf_event", PID: second, Comm: "sdttrace"})
	stopSecond()
	awaitWatchers(t, pid, provider)
}

// TestWatchedOnce checks that one tracer counts once, and two as two, where the kernel
// raises a semaphore for each copy of a site.
func TestWatchedOnce(t *testing.T) {
	needs.Tools(t, "ld.lld")
	dir := commands(t, "sdttrace")
	program := needs.Compile(t, "../../attach/testdata/guarded.c", "gcc", "-O1", "-fuse-ld=lld", "-ldl")
	p := tracee.StartVictim(t, exec.Command(program))
	p.Do("began")
	await := func(want string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			stdout.Reset()
			run(context.Background(), []string{"list", "-p", fmt.Sprint(p.PID()), "guarded:*"}, &stdout, &stderr)
			if lines := strings.Split(stdout.String(), "\n"); len(lines) > 1 && len(strings.Fields(lines[1])) > 3 && strings.Fields(lines[1])[3] == want {
				return
			}
		}
		t.Fatalf("list prints %s and says %s, want %s watchers", &stdout, &stderr, want)
	}
	await("0")
	sdttrace := filepath.Join(dir, "sdttrace")
	_, stopFirst := startTracer(t, sdttrace, "-p", fmt.Sprint(p.PID()), "guarded:hit")
	await("1")
	_, stopSecond := startTracer(t, sdttrace, "count", program+":guarded:hit")
	await("2")
	stopFirst()
	await("1")
	stopSecond()
	await("0")
}

// TestWatchedFunctions checks that list names who traces a function of a file, and of a process.
func TestWatchedFunctions(t *testing.T) {
	dir := commands(t, "sdttrace")
	program := needs.Compile(t, "testdata/waits.c", "gcc", "-O1")
	p := exec.Command(program)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer p.Wait()
	defer p.Process.Kill()
	function := "uprobe:" + program + ":main"
	await := func(want ...int) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			stdout.Reset()
			run(context.Background(), []string{"list", function}, &stdout, &stderr)
			has := func(pid int) bool { return strings.Contains(stdout.String(), fmt.Sprintf("sdttrace/%d", pid)) }
			if strings.Count(stdout.String(), "sdttrace/") == len(want) && !slices.ContainsFunc(want, func(pid int) bool { return !has(pid) }) {
				return
			}
		}
		t.Fatalf("list prints %s and says %s, want the watchers %v", &stdout, &stderr, want)
	}
	await()
	first, stopFirst := startTracer(t, filepath.Join(dir, "sdttrace"), "-p", fmt.Sprint(p.Process.Pid), function)
	await(first)
	second, stopSecond := startTracer(t, filepath.Join(dir, "sdttrace"), "count", function)
	await(first, second)
	stopFirst()
	await(second)
	stopSecond()
	await()
}

// TestWatchedByBpftrace does so with bpftrace.
func TestWatchedByBpftrace(t *testing.T) {
	needs.Tools(t, "bpftrace")
	dir := commands(t, "sdttrace", "traced")
	const provider = "watchedb"
	pid := startTraced(t, dir, provider).PID()
	tracer, stop := startTracer(t, "bpftrace", "-p", fmt.Sprint(pid), "-e", "usdt:*:"+provider+":tick { @ = count(); }")
	awaitWatchers(t, pid, provider, watch.Watcher{PID: tracer, Comm: "bpftrace"})
	stop()
	awaitWatchers(t, pid, provider)
}

// TestWatchedByTracefs enables an event of uprobe_events, and has perf use it.
func TestWatchedByTracefs(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	tracefs := needs.Tracefs(t)
	const event = "sdttrace_test/tick"
	events := filepath.Join(tracefs, "uprobe_events")
	const provider = "watchedt"
	pid := startTraced(t, dir, provider).PID()
	write := func(file, text string) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatalf("write %q to %s: %v", text, file, err)
		}
	}
	p, err := program.Find(pid, provider, "tick")
	if err != nil {
		t.Fatal(err)
	}
	write(events, fmt.Sprintf("p:%s %s:%#x(%#x)\n", event, p.Attachable(), p.Offset, p.SemaphoreOffset))
	defer func() {
		f, err := os.OpenFile(events, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			f.WriteString("-:" + event + "\n")
			f.Close()
		}
	}()
	awaitWatchers(t, pid, provider)
	enable := filepath.Join(tracefs, "events", event, "enable")
	write(enable, "1")
	named := func() []watch.Watcher {
		return slices.DeleteFunc(listed(t, pid, provider).Watchers, func(w watch.Watcher) bool { return w.Maybe })
	}
	want := []watch.Watcher{{Kind: "uprobe_events", Event: event}}
	// Others may watch the same place of a file, for a moment.
	for deadline := time.Now().Add(time.Minute); !slices.Equal(named(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("list shows %+v, want %+v", named(), want)
		}
	}
	var stdout, stderr bytes.Buffer
	run(context.Background(), []string{"list", "-p", fmt.Sprint(pid), provider + ":tick"}, &stdout, &stderr)
	if !strings.Contains(stdout.String(), " tracefs("+event+")") {
		t.Errorf("list prints %s", &stdout)
	}
	write(enable, "0")
	awaitWatchers(t, pid, provider)

	needs.Tools(t, "perf")
	tracer, stop := startTracer(t, "perf", "record", "-o", filepath.Join(dir, "perf.data"), "-e", strings.Replace(event, "/", ":", 1), "-p", fmt.Sprint(pid))
	perf := watch.Watcher{Kind: "uprobe_events", PID: tracer, Comm: "perf", Event: event, Maybe: true}
	for deadline := time.Now().Add(2 * time.Minute); !slices.Contains(listed(t, pid, provider).Watchers, perf); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("list shows %+v, want %+v", listed(t, pid, provider).Watchers, perf)
		}
	}
	stop()
	awaitWatchers(t, pid, provider)
}

// TestWatchersUnprivileged checks that list shows that a probe is watched without
// the privilege to see by whom, and names that privilege.
func TestWatchersUnprivileged(t *testing.T) {
	_, nobody := asNobody(t)
	command := nobody("traced", "-")
	command.Env = append(os.Environ(), "PROVIDER=watchedn")
	pid := tracee.StartVictim(t, command).Ready().PID()
	links := commands(t, "sdttrace")
	tracer, stop := startTracer(t, filepath.Join(links, "sdttrace"), "-p", fmt.Sprint(pid), "watchedn:tick")
	defer stop()
	awaitWatchers(t, pid, "watchedn", watch.Watcher{PID: tracer, Comm: "sdttrace"})
	cmd := nobody("sdttrace", "list", "-p", fmt.Sprint(pid), "watchedn:tick")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("list as nobody: %v", err)
	}
	if fields := strings.Fields(strings.Split(stdout.String(), "\n")[1]); fields[3] != "1" || fields[4] == "clean" || fields[5] != "?" {
		t.Errorf("list prints %s", &stdout)
	}
	if said := stderr.String(); !strings.HasPrefix(said, "sdttrace: the watchers of 1 of these sites are unknown: sdttrace cannot see ") || !strings.Contains(said, "CAP_SYS_ADMIN") {
		t.Errorf("list says %q", said)
	}
}

// TestWatchedWithoutSemaphore lists a probe without a semaphore, whose site alone
// shows that it is watched, in one of two programs that have the same file
// mapped.
func TestWatchedWithoutSemaphore(t *testing.T) {
	needs.C(t)
	dir := commands(t, "sdttrace")
	source, program := filepath.Join(dir, "bare.c"), filepath.Join(dir, "bare")
	text := `#include <sys/sdt.h>
#include <stdio.h>
int main(void) { puts("ready"); fflush(stdout); while (getchar() != EOF) DTRACE_PROBE(watchedbare, tick); return 0; }`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-O2", "-o", program, source)
	var pids [2]int
	for i := range pids {
		pids[i] = tracee.Start(t, exec.Command(program)).Ready().PID()
	}
	tracer, stop := startTracer(t, filepath.Join(dir, "sdttrace"), "-p", fmt.Sprint(pids[0]), "watchedbare:tick")
	awaitWatchers(t, pids[0], "watchedbare", watch.Watcher{PID: tracer, Comm: "sdttrace"})
	if p := listed(t, pids[0], "watchedbare"); p.Semaphore != nil || p.State == "clean" {
		t.Errorf("list shows the probe as %+v", p)
	}
	if p := listed(t, pids[1], "watchedbare"); p.State != "clean" || len(p.Watchers) > 0 {
		t.Errorf("list shows the probe of another process as %+v", p)
	}
	stop()
	awaitWatchers(t, pids[0], "watchedbare")
}

// TestListLocal checks that list shows who watches through shared memory.
func TestListLocal(t *testing.T) {
	service := exec.Command(filepath.Join(commands(t, "traced"), "traced"), "-")
	service.Env = append(os.Environ(), "USDT_LOCAL=1", "PROVIDER=listlocal")
	pid := tracee.StartVictim(t, service).Ready().PID()
	s, err := attach.Open(t.Context(), []string{"listlocal:tick"}, &attach.Options{Target: attach.Target{PIDs: []int{pid}, Via: attach.ViaLocal}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), append(append([]string{"list", "-p", fmt.Sprint(pid)}, args...), "listlocal:tick"), &stdout, &stderr); code != exitDone || stderr.Len() > 0 {
			t.Fatalf("exit code %d: %s", code, stderr.String())
		}
		return stdout.String()
	}
	if got := list(); !strings.Contains(got, " listlocal:tick  1        clean  shared-memory  ") {
		t.Errorf("while a tracer watches, it says\n%s", got)
	}
	if got := list("--json"); !strings.Contains(got, `"semaphore_value":0,"local_watchers":1,`) {
		t.Errorf("while a tracer watches, it says\n%s", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := list(); !strings.Contains(got, " listlocal:tick  0        clean  -   ") {
		t.Errorf("when nobody watches, it says\n%s", got)
	}
}

// TestListRecorder checks that list shows a flight recorder, and counts tracers only.
func TestListRecorder(t *testing.T) {
	service := exec.Command(filepath.Join(commands(t, "traced"), "traced"), "-")
	service.Env = append(os.Environ(), "USDT_RECORDER="+t.TempDir()+",1M", "PROVIDER=listrecorder")
	pid := tracee.StartVictim(t, service).Ready().PID()
	for _, test := range []struct{ flag, want string }{
		{"--json=false", " listrecorder:tick  0        clean  recorder  "},
		{"--json", `"semaphore_value":0,"recorded":true,"state":"clean"`},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"list", "-p", fmt.Sprint(pid), test.flag, "listrecorder:tick"}, &stdout, &stderr); code != exitDone || stderr.Len() > 0 || !strings.Contains(stdout.String(), test.want) {
			t.Errorf("exit code %d, it says\n%s%s", code, stdout.String(), stderr.String())
		}
	}
}
