package targets_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// A JRE has no compiler, and needs no other class file.
//
//go:generate javac --release 11 -g:none -d testdata testdata/Work.java

// jvms returns the directories of the installed versions of Debian's OpenJDK.
func jvms() []string {
	dirs, _ := filepath.Glob("/usr/lib/jvm/java-[12][0-9]-openjdk-*")
	return dirs
}

// startJVM starts testdata/Work.java, with flags for the virtual machine.
func startJVM(t testing.TB, flags ...string) *tracee.Program {
	t.Helper()
	needs.Root(t)
	var java string
	for _, candidate := range jvms() {
		if hasProvider(filepath.Join(candidate, "lib/server/libjvm.so"), "hotspot") {
			java = filepath.Join(candidate, "bin/java")
		}
	}
	if java == "" {
		needs.Skip(t, "needs OpenJDK 17 or later with probes hotspot:*")
	}
	return start(t, java, append(flags, "-Xshare:auto", "-Xmx64m", "-cp", "testdata", "Work")...)
}

// counted returns the program's own counts: collections of garbage, classes
// loaded.
func counted(t testing.TB, answer string) (collections, classes int) {
	t.Helper()
	if _, err := fmt.Sscanf(answer, "%d %d", &collections, &classes); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	return collections, classes
}

// TestJVM compares the beginnings and ends of threads, collections of garbage
// and loaded classes with what the program counts.
func TestJVM(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := startJVM(t, "-XX:+UseSerialGC", "-Xlog:class+load:file="+log+":none")
	p.Do("threads 1")
	gc0, classes0 := counted(t, p.Do("gc 1"))
	s := open(t, []string{"hotspot:thread__*", "hotspot:gc__*", "hotspot:class__loaded"},
		&attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Strings: []string{"arg0[arg1]"}})
	probes := live(t, p.PID(), s)
	checkArmed(t, probes)
	p.Do("threads 20")
	p.Do("load 1")
	gc1, classes1 := counted(t, p.Do("gc 5"))
	events := drain(t, s)
	checkClean(t, probes)

	var want, got []string
	for i := range 20 {
		name := fmt.Sprintf("wörker-%d", i)
		want = append(want, "thread__start "+name, "thread__stop "+name)
	}
	count := map[string]int{}
	var loaded []string
	for _, ev := range events {
		args := values(t, &ev)
		count[ev.Name]++
		if ev.Name == "class__loaded" {
			loaded = append(loaded, strings.ReplaceAll(args[0].(string), "/", "."))
		}
		if ev.Name != "thread__start" && ev.Name != "thread__stop" {
			continue
		}
		if name := args[0].(string); strings.HasPrefix(name, "wörker-") {
			got = append(got, ev.Name+" "+name)
			if length := args[1].(int64); length != int64(len(name)) {
				t.Errorf("name %q of %d bytes", name, length)
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("threads (-want +got):\n%s", d)
	}
	if n := gc1 - gc0; n < 5 || count["gc__begin"] != n || count["gc__end"] != n {
		t.Errorf("%d gc__begin, %d gc__end, want %d as counted", count["gc__begin"], count["gc__end"], n)
	}
	logged := loadedClasses(t, log)
	if n := classes1 - classes0; n < 2 || n > len(logged) {
		t.Errorf("%d classes counted, %d logged", n, len(logged))
	} else if d := cmp.Diff(logged[len(logged)-n:], loaded); d != "" {
		t.Errorf("classes (-logged +traced):\n%s", d)
	}
}

// loadedClasses returns the names in a log of loaded classes.
func loadedClasses(t testing.TB, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(b)) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	return names
}

// TestJVMCalls counts calls of a method, by names that have a length and no NUL.
func TestJVMCalls(t *testing.T) {
	p := startJVM(t, "-XX:+DTraceMethodProbes")
	s := openEvents(t, []string{"hotspot:method__entry"}, &attach.EventOptions{RingSize: 16 << 20}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Strings: []string{"hotspot:method__*:arg1[arg2]", "hotspot:method__*:arg3[arg4]"}, Where: `arg1 == "Work" && arg3 == "step"`})
	p.Do("call 1000")
	events := drain(t, s)
	if len(events) != 1000 {
		t.Errorf("%d calls traced, want 1000", len(events))
	}
}

// TestJVMEverything attaches to all probes of a running virtual machine, and
// checks that each program for the many forms of arguments has one link.
func TestJVMEverything(t *testing.T) {
	p := startJVM(t)
	links := bpfLinks(t)
	s := openEvents(t, []string{"*/libjvm.so:*:*"}, &attach.EventOptions{RingSize: 64 << 20}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	programs := map[string]bool{}
	n := 0
	for link, program := range bpfLinks(t) {
		if links[link] == "" {
			n++
			programs[program] = true
		}
	}
	signatures := map[string]bool{}
	for _, site := range s.Plan() {
		signatures[site.Probe.Args] = true
	}
	t.Logf("%d sites, %d forms of arguments, %d programs, %d links", s.Plan().Attached(), len(signatures), len(programs), n)
	if len(s.Plan()) < 500 || len(signatures) < 100 {
		t.Errorf("%d sites with %d forms of arguments, want libjvm's more than 500 with more than 100", len(s.Plan()), len(signatures))
	}
	if n == 0 || n != len(programs) || n > len(signatures)/10 {
		t.Errorf("%d links of %d programs, want one of each, and far fewer than the %d forms", n, len(programs), len(signatures))
	}
	probes := live(t, p.PID(), s)
	checkArmed(t, probes)
	gc0, _ := counted(t, p.Do("threads 5"))
	gc1, _ := counted(t, p.Do("gc 2"))
	count := map[string]int{}
	for _, ev := range drain(t, s) {
		count[ev.Name]++
		for _, a := range ev.Args {
			if a.Err != nil {
				t.Fatalf("%s:%s %s: %v", ev.Provider, ev.Name, a.Name, a.Err)
			}
		}
	}
	checkClean(t, probes)
	if gc1-gc0 < 2 || count["thread__start"] < 5 || count["gc__end"] < 2 {
		t.Errorf("%d thread__start, %d gc__end, want those of 5 threads and %d collections", count["thread__start"], count["gc__end"], gc1-gc0)
	}
	if after := bpfLinks(t); len(after) != len(links) {
		t.Errorf("%d links are left, want the %d from before", len(after), len(links))
	}
	p.Do("threads 5")
}

// bpfLinks returns the descriptions of this process's links by descriptor, down
// to the program that each runs.
func bpfLinks(t testing.TB) map[string]string {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, fd := range fds {
		if name, _ := os.Readlink("/proc/self/fd/" + fd.Name()); !strings.Contains(name, "bpf_link") && !strings.Contains(name, "bpf-link") {
			continue
		}
		b, err := os.ReadFile("/proc/self/fdinfo/" + fd.Name())
		if err != nil {
			t.Fatal(err)
		}
		var id, program string
		for line := range strings.Lines(string(b)) {
			key, value, _ := strings.Cut(line, ":")
			switch key {
			case "link_id":
				id = strings.TrimSpace(value)
			case "prog_id":
				program = strings.TrimSpace(value)
			}
		}
		all[id] = program
	}
	return all
}
