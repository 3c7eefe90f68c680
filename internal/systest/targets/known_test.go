package targets_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/prototype"
)

// whole has texts in full.
var whole = &attach.EventOptions{MaxString: 8 << 10, RingSize: 16 << 20}

// known returns the options to trace processes by the names of arguments that package
// prototype knows; any process if there are none.
func known(pids ...int) *attach.Options {
	return &attach.Options{Target: attach.Target{PIDs: pids}, Prototypes: prototype.Known()}
}

// argument returns an argument by its name.
func argument(t testing.TB, ev *event.Event, name string) any {
	t.Helper()
	for _, a := range ev.Args {
		if a.Name == name {
			if a.Err != nil {
				t.Errorf("%s:%s %s: %v", ev.Provider, ev.Name, name, a.Err)
			}
			return a.Value
		}
	}
	t.Errorf("%s:%s has no argument %s, but %v", ev.Provider, ev.Name, name, ev.Args)
	return nil
}

// testKnownStatements compares the queries with what psql sent, and counts them by
// their text.
func testKnownStatements(t *testing.T, p *postgres) {
	sent := []string{"select 'grüße, 世界'", "select\n\t'" + strings.Repeat("long ", 1000) + "'", "select 1 as one", "select 1 as one"}
	s := openEvents(t, []string{p.server + ":postgresql:query__start", p.server + ":postgresql:statement__status"}, whole, known())
	a, err := attach.OpenAggregate(t.Context(), []string{p.server + ":postgresql:query__start"}, attach.Count().By("query"),
		&attach.Options{Prototypes: prototype.Known(), Where: `query ~ "select 1*"`})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var commands []string
	for _, query := range sent {
		commands = append(commands, "-c", query)
	}
	p.client("psql", append([]string{"-qX"}, commands...)...)
	var got []string
	for _, ev := range drain(t, s) {
		if ev.Name == "query__start" {
			got = append(got, fmt.Sprint(argument(t, &ev, "query")))
		} else if status := argument(t, &ev, "status"); status != nil && !slices.Contains(sent, fmt.Sprint(status)) {
			t.Errorf("status %q was not sent", status)
		}
	}
	if d := cmp.Diff(sent, got); d != "" {
		t.Errorf("queries (-sent +traced):\n%s", d)
	}
	groups, err := a.Read()
	if err != nil || len(groups) != 1 || groups[0].Count != 2 || groups[0].By[0].Value != "select 1 as one" {
		t.Errorf("by query: %+v, %v, want one group of 2", groups, err)
	}
}

// testKnownLocks checks that sorts and waiting for locks have the numbers that the
// server's views and commands have.
func testKnownLocks(t *testing.T, p *postgres) {
	relation := p.client("psql", "-qAtX", "-c", "select 'pgbench_history'::regclass::oid")
	s := openEvents(t, []string{p.server + ":postgresql:lock__wait__start", p.server + ":postgresql:sort__start"}, whole, known())
	p.waitForLock()
	p.client("psql", "-qX", "-c", "set work_mem = '777kB'", "-c", "select distinct on (b, a) a, b from (values (1, 2), (2, 1)) as v (a, b)")
	var waits, sorts int
	for _, ev := range drain(t, s) {
		switch ev.Name {
		case "lock__wait__start":
			const accessShare = 1 // LOCKMODE
			if argument(t, &ev, "type") != uint64(0) || argument(t, &ev, "mode") != int64(accessShare) || fmt.Sprintln(argument(t, &ev, "field2")) != relation {
				t.Errorf("waits for %v, want AccessShareLock of relation %s", ev.Args, relation)
			}
			waits++
		case "sort__start":
			if argument(t, &ev, "work_mem") == int64(777) && argument(t, &ev, "keys") == int64(2) {
				sorts++
			}
		}
	}
	if waits != 1 || sorts != 1 {
		t.Errorf("%d times waited for a lock, %d sorts by two keys in 777 kB, want 1 of each", waits, sorts)
	}
}

// TestKnownJVM compares names, which have a length and no NUL, and collections of garbage
// with what the virtual machine logs and the program counts.
func TestKnownJVM(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := startJVM(t, "-XX:+UseSerialGC", "-Xlog:class+load:file="+log+":none")
	p.Do("threads 1")
	gc0, classes0 := counted(t, p.Do("gc 1"))
	s := openEvents(t, []string{"hotspot:gc__begin", "hotspot:class__loaded", "hotspot:thread__start", "hotspot:mem__pool__gc__begin"}, whole, known(p.PID()))
	p.Do("threads 2")
	p.Do("load 1")
	gc1, classes1 := counted(t, p.Do("gc 5"))
	var loaded, threads []string
	collections, pools := 0, map[any]int{}
	for _, ev := range drain(t, s) {
		switch ev.Name {
		case "gc__begin":
			if argument(t, &ev, "full") != true {
				t.Errorf("a collection that the program asked for is not full: %v", ev.Args)
			}
			collections++
		case "class__loaded":
			loaded = append(loaded, strings.ReplaceAll(argument(t, &ev, "name").(string), "/", "."))
			if argument(t, &ev, "shared"); len(ev.Args) != 3 {
				t.Errorf("arguments are %v, want three, without the length", ev.Args)
			}
		case "thread__start":
			threads = append(threads, argument(t, &ev, "name").(string))
		default:
			pools[argument(t, &ev, "pool")]++
			if used, committed := argument(t, &ev, "used").(uint64), argument(t, &ev, "committed").(uint64); used > committed || committed == 0 {
				t.Errorf("%v uses %d of %d bytes", argument(t, &ev, "pool"), used, committed)
			}
		}
	}
	if n := gc1 - gc0; n < 5 || collections != n {
		t.Errorf("%d collections, want %d as counted", collections, n)
	}
	if pools["Eden Space"] != gc1-gc0 || pools["Tenured Gen"] != gc1-gc0 {
		t.Errorf("pools %v, want Eden Space and Tenured Gen at each of %d collections", pools, gc1-gc0)
	}
	if !slices.Contains(threads, "wörker-0") || !slices.Contains(threads, "wörker-1") {
		t.Errorf("threads %q, want wörker-0 and wörker-1", threads)
	}
	logged := loadedClasses(t, log)
	if n := classes1 - classes0; n < 2 || n > len(logged) {
		t.Errorf("%d classes counted, %d logged", n, len(logged))
	} else if d := cmp.Diff(logged[len(logged)-n:], loaded); d != "" {
		t.Errorf("classes (-logged +traced):\n%s", d)
	}
}

// traceCommand runs a command, and returns those of its events that fulfil a condition.
func traceCommand(t *testing.T, probes []string, where string, name string, args ...string) []event.Event {
	t.Helper()
	o := known()
	o.Where = where
	s := openEvents(t, probes, whole, o)
	cmd := exec.Command(name, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	pid := cmd.Process.Pid
	return slices.DeleteFunc(drain(t, s), func(ev event.Event) bool { return ev.PID != pid })
}

// TestKnownJNI checks UTF-16 that the virtual machine gets from its native libraries.
func TestKnownJNI(t *testing.T) {
	p := startJVM(t) // finds a virtual machine with probes
	java, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(filepath.Dir(java), "../lib/server/libjvm.so")
	var got []string
	for _, ev := range traceCommand(t, []string{lib + ":hotspot_jni:NewString__entry"}, "", java, "-Xshare:auto", "-Dgreeting=grüße", "-version") {
		got = append(got, fmt.Sprint(argument(t, &ev, "unicode")))
	}
	if !slices.Contains(got, "java.vm.version") {
		t.Errorf("strings %q, want java.vm.version among them", got)
	}
}

const pythonCalls = `def grüße(n):
    return n

def erzeugt():
    yield 1

for i in range(3):
    grüße(i)
g = erzeugt()
next(g)
try:
    g.throw(KeyError)
except KeyError:
    pass
`

// TestKnownPython compares calls with their file and line in the source. Other programs in
// Python make more calls than can be delivered.
func TestKnownPython(t *testing.T) {
	needCalls(t)
	script := filepath.Join(t.TempDir(), "calls.py")
	if err := os.WriteFile(script, []byte(pythonCalls), 0o600); err != nil {
		t.Fatal(err)
	}
	python := findPython(t)
	var entered, returned []string
	for _, ev := range traceCommand(t, []string{python + ":python:function__entry", python + ":python:function__return"}, fmt.Sprintf("filename == %q", script), python, script) {
		call := fmt.Sprint(argument(t, &ev, "function"), ":", argument(t, &ev, "lineno"))
		if ev.Name == "function__entry" {
			entered = append(entered, call)
		} else {
			returned = append(returned, call)
		}
	}
	// Python 3.11 fires function__entry only where an exception enters a generator, unless lines are traced.
	if d := cmp.Diff([]string{"erzeugt:5"}, entered); d != "" {
		t.Errorf("entered (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"grüße:2", "grüße:2", "grüße:2", "erzeugt:5", "erzeugt:5", "<module>:14"}, returned); d != "" {
		t.Errorf("returned (-want +got):\n%s", d)
	}
}

// TestKnownCXX checks the type of thrown exceptions, which is text behind a pointer.
func TestKnownCXX(t *testing.T) {
	needs.Root(t)
	p := start(t, compileThrows(t))
	s := openEvents(t, []string{"libstdcxx:*"}, whole, known(p.PID()))
	loud, err := attach.OpenAggregate(t.Context(), []string{"libstdcxx:throw"}, attach.Count(),
		&attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Prototypes: prototype.Known(), Where: `type == "Loud"`})
	if err != nil {
		t.Fatal(err)
	}
	defer loud.Close()
	p.Do("2 30")
	if groups, err := loud.Read(); err != nil || len(groups) != 1 || groups[0].Count != 60 {
		t.Errorf("of type Loud: %+v, %v, want 60", groups, err)
	}
	count := map[string]int{}
	for _, ev := range drain(t, s) {
		count[ev.Name+" "+argument(t, &ev, "type").(string)]++
		if argument(t, &ev, "exception") == uint64(0) {
			t.Error("an exception is nowhere")
		}
	}
	if d := cmp.Diff(map[string]int{"throw 4Loud": 60, "catch 4Loud": 80, "rethrow 4Loud": 20}, count); d != "" {
		t.Errorf("exceptions (-want +got):\n%s", d)
	}
}

// TestKnownPHP compares what a script does with its functions, errors and exceptions.
func TestKnownPHP(t *testing.T) {
	php := find(t, "php", "/usr/bin/php8.2", "php")
	script := filepath.Join(t.TempDir(), "script.php")
	source := "<?php\nclass Oops extends Exception {}\nclass Greeter {\n  function greet($n) { return $n; }\n}\n" +
		"(new Greeter)->greet(1);\ntry { throw new Oops('no'); } catch (Oops $e) {}\n"
	if err := os.WriteFile(script, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("USE_ZEND_DTRACE", "1")
	var got []string
	for _, ev := range traceCommand(t, []string{php + ":php:function__entry", php + ":php:exception__thrown", php + ":php:request__startup"}, "", php, script) {
		switch ev.Name {
		case "function__entry":
			got = append(got, fmt.Sprint("call ", argument(t, &ev, "class"), argument(t, &ev, "scope"), argument(t, &ev, "function"), " ", argument(t, &ev, "file") == any(script), argument(t, &ev, "lineno")))
		case "exception__thrown":
			got = append(got, fmt.Sprint("throw ", argument(t, &ev, "class")))
		default:
			got = append(got, fmt.Sprint("request ", argument(t, &ev, "file") == any(script)))
		}
	}
	if d := cmp.Diff([]string{"request true", "call main true 6", "call Greeter::greet true 4", "throw Oops"}, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

// TestKnownRuby compares the objects that a script makes, and the exceptions that it
// raises.
func TestKnownRuby(t *testing.T) {
	libraries, _ := filepath.Glob("/usr/lib/*/libruby-3.*.so.3.*")
	libraries = slices.DeleteFunc(libraries, func(path string) bool { return !hasProvider(path, "ruby") })
	if needs.Root(t); len(libraries) == 0 {
		needs.Skip(t, "needs ruby with probes ruby:*, as Debian 12 has it")
	}
	ruby, err := exec.LookPath("/usr/bin/ruby")
	if err != nil {
		needs.Skip(t, "needs ruby: %v", err)
	}
	script := filepath.Join(t.TempDir(), "script.rb")
	if err := os.WriteFile(script, []byte("class Work; end\n\nWork.new\nbegin\n  raise ArgumentError\nrescue\nend\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ev := range traceCommand(t, []string{libraries[0] + ":ruby:object__create", libraries[0] + ":ruby:raise"}, "", ruby, "--disable=gems", script) {
		if argument(t, &ev, "filename") == any(script) {
			got = append(got, fmt.Sprint(ev.Name, " ", argument(t, &ev, "class"), " ", argument(t, &ev, "lineno")))
		}
	}
	if d := cmp.Diff([]string{"object__create Work 3", "object__create ArgumentError 5", "raise ArgumentError 5"}, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

// TestKnownLibvirt checks the classes of objects that a client of libvirt's test driver
// makes.
func TestKnownLibvirt(t *testing.T) {
	libraries, _ := filepath.Glob("/usr/lib/*/libvirt.so.0.*")
	libraries = slices.DeleteFunc(libraries, func(path string) bool { return !hasProvider(path, "libvirt") })
	if needs.Root(t); len(libraries) == 0 {
		needs.Skip(t, "needs libvirt.so.0 with probes libvirt:*")
	}
	classes := map[any]bool{}
	for _, ev := range traceCommand(t, []string{libraries[0] + ":libvirt:object_new"}, "", "/usr/bin/python3", "-c", "import libvirt; libvirt.open('test:///default').listAllDomains()") {
		classes[argument(t, &ev, "classname")] = true
	}
	for _, class := range []string{"virConnect", "virDomain", "virDomainObj"} {
		if !classes[class] {
			t.Errorf("classes %v, want %s among them", classes, class)
		}
	}
}
