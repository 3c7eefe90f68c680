package symbols_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// perfMap returns the addresses of functions whose names contain text, by name, as the
// perf map of a process has them.
func perfMap(t testing.TB, pid int, text string) map[string]uint64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/tmp/perf-%d.map", pid))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint64{}
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(f) == 3 && strings.Contains(f[2], text) {
			if out[f[2]], err = strconv.ParseUint(strings.TrimPrefix(f[0], "0x"), 16, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("the perf map of process %d has no function like %s", pid, text)
	}
	return out
}

const hotJS = `
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s }
for (let i = 0; i < 3000; i++) hot(3000)
// Node.js writes its jitdump file when it has 2 MB: here they are.
for (let i = 0; i < 2500; i++) { const f = new Function("n", "let s = n;" + ("s += n % " + i + ";").repeat(60) + "return s"); f(i) }
console.log("ready"); setInterval(() => hot(10), 1e6)`

// TestNode names functions of Node.js, by its perf map and by its jitdump file.
func TestNode(t *testing.T) {
	needs.Tools(t, "node")
	dir := t.TempDir()
	script := filepath.Join(dir, "hot.js")
	if err := os.WriteFile(script, []byte(hotJS), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // where the jitdump file goes
	pid := start(t, "node", "--perf-basic-prof", "--perf-prof", "--always-sparkplug", script)
	t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid)) })
	functions := perfMap(t, pid, "hot "+script)
	check := func(r *symbols.Resolver, from, text string) {
		s, err := r.Process(pid)
		if err != nil {
			t.Fatal(err)
		}
		for name, addr := range functions {
			if !strings.Contains(name, text) {
				continue
			}
			f := s.AppendFrames(nil, addr+1)
			if len(f) != 1 || f[0].Module != "[jit]" || !strings.Contains(f[0].Func, "hot") || !strings.Contains(f[0].Func+f[0].File, script) {
				t.Errorf("by %s: got %+v at %#x, want %s", from, f, addr, name)
			}
		}
	}
	r := symbols.NewResolver(nil)
	defer r.Close()
	check(r, "perf map", "hot")
	if err := os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid)); err != nil {
		t.Fatal(err)
	}
	check(r, "jitdump", "*hot") // it has no code that is interpreted
}

// TestNodeStack unwinds a stack of JavaScript, of what Node.js generates at its build and
// at run time, and of C++.
func TestNodeStack(t *testing.T) {
	needs.Tools(t, "node")
	script := filepath.Join(t.TempDir(), "deep.js")
	if err := os.WriteFile(script, []byte(`
function deep(n) {
  if (n == 0) {
    require("fs").writeSync(1, "ready\n")
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }
  return deep(n - 1) + 1
}
deep(5)`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(script)) // where it writes a log
	pid := start(t, "node", "--perf-basic-prof", "--interpreted-frames-native-stack", script)
	t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid)) })
	awaitBlocked(t, pid)
	regs, stack := copyStack(t, pid, 64<<10)
	r := symbols.NewResolver(nil)
	defer r.Close()
	s, err := r.Process(pid)
	if err != nil {
		t.Fatal(err)
	}
	frames := s.Stack(s.Unwind(nil, regs, stack))
	deep := 0
	for _, f := range frames {
		if strings.HasPrefix(f.Func, "JS:~deep "+script) {
			deep++
		}
	}
	if last := frames[len(frames)-1].Func; deep != 6 || last != "_start" {
		t.Errorf("got %d calls of deep, and %s last, want 6 and _start\n%v", deep, last, frames)
	}
}

// TestTrampoline names generated code in a stack, also in a process that has a PID and a root of
// its own.
func TestTrampoline(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	path := needs.Compile(t, "testdata/trampoline.c", "gcc", "-O2")
	check := func(t *testing.T, pid int) {
		awaitBlocked(t, pid)
		regs, stack := copyStack(t, pid, 16<<10)
		r := symbols.NewResolver(nil)
		defer r.Close()
		s, err := r.Process(pid)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range s.Stack(s.Unwind(nil, regs, stack)) {
			if f.Module == "[jit]" || f.Func == "eval" || f.Func == "main" {
				got = append(got, f.Func+f.File)
			}
		}
		even, odd := "py::even/src/a.py", "py::odd/src/a.py"
		want := []string{"eval", odd, "eval", even, "eval", odd, "eval", even, "eval", odd, "eval", "main"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	t.Run("plain", func(t *testing.T) {
		pid := start(t, path)
		t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid)) })
		check(t, pid)
	})
	t.Run("namespaces", func(t *testing.T) {
		needs.Root(t)
		needs.Tools(t, "unshare", "pgrep")
		// The process is number 1 in its namespace, and has a /tmp of its own.
		dir, err := os.MkdirTemp("/var/tmp", "symbols")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		needs.Run(t, "cp", path, dir)
		unshare := start(t, "unshare", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c",
			"mount -t tmpfs -o mode=1777 none /tmp && exec "+dir+"/trampoline")
		pid, err := strconv.Atoi(strings.TrimSpace(needs.Run(t, "pgrep", "-P", strconv.Itoa(unshare))))
		if err != nil {
			t.Fatal(err)
		}
		check(t, pid)
	})
}

// TestPython names functions of each CPython of this machine that has a perf trampoline,
// in a stack. Debian 12's has none yet; TestTrampoline has code of its form.
func TestPython(t *testing.T) {
	candidates := []string{"python3", "python3.13", "python3.12"}
	if root, err := exec.Command("pyenv", "root").Output(); err == nil {
		installed, _ := filepath.Glob(strings.TrimSpace(string(root)) + "/versions/3.1[2-9]*/bin/python3")
		candidates = append(candidates, installed...)
	}
	candidates = slices.DeleteFunc(candidates, func(python string) bool {
		return exec.Command(python, "-X", "perf", "-c", "import sys; sys.exit(not sys.is_stack_trampoline_active())").Run() != nil
	})
	if len(candidates) == 0 {
		needs.Tools(t, "python3")
		if err := exec.Command("python3", "-c", "import sys; sys.exit(sys.version_info >= (3, 12))").Run(); err != nil {
			t.Errorf("python3 is one with a perf trampoline, which does not work: %v", err)
		}
	}
	for _, python := range candidates {
		t.Run(python, func(t *testing.T) { checkPython(t, python) })
	}
}

func checkPython(t *testing.T, python string) {
	script := filepath.Join(t.TempDir(), "deep.py")
	if err := os.WriteFile(script, []byte(`
import time
def deep(n):
    if n == 0:
        print("ready", flush=True)
        time.sleep(1000)
    deep(n - 1)
deep(4)`), 0o600); err != nil {
		t.Fatal(err)
	}
	pid := start(t, python, "-X", "perf", script)
	t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid)) })
	awaitBlocked(t, pid)
	regs, stack := copyStack(t, pid, 16<<10)
	r := symbols.NewResolver(nil)
	defer r.Close()
	s, err := r.Process(pid)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range s.Stack(s.Unwind(nil, regs, stack)) {
		if strings.HasPrefix(f.Func, "py::") {
			got = append(got, f.Func+" "+f.File)
		}
	}
	want := append(slices.Repeat([]string{"py::deep " + script}, 5), "py::<module> "+script)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q\n%v", got, want, s.Stack(s.Unwind(nil, regs, stack)))
	}
}

// TestJVM names methods that a JVM has compiled, by the perf map that it writes when it
// is asked to.
func TestJVM(t *testing.T) {
	javas, _ := filepath.Glob("/usr/lib/jvm/java-[12][0-9]-openjdk-*/bin/java")
	if len(javas) == 0 {
		needs.Skip(t, "needs OpenJDK 17 or later")
	}
	cmd := exec.Command(javas[0], "-Xmx64m", "-cp", "../internal/systest/targets/testdata", "Work")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	pid := cmd.Process.Pid
	answers := bufio.NewScanner(out)
	answers.Scan()
	for range 200 { // until the compiler has had enough to do
		fmt.Fprintln(in, "call 100000")
		answers.Scan()
	}
	askJVM(t, pid, "Compiler.perfmap")
	t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid)) })
	r := symbols.NewResolver(nil)
	defer r.Close()
	s, err := r.Process(pid)
	if err != nil {
		t.Fatal(err)
	}
	for name, addr := range perfMap(t, pid, "Work") {
		if f := s.AppendFrames(nil, addr+4); f[0].Func != name || f[0].Module != "[jit]" {
			t.Errorf("got %+v at %#x, want %s", f, addr, name)
		}
	}
}

// askJVM gives a JVM a command as jcmd does: it opens a socket when it finds a file and
// gets a signal (HotSpot's attachListener_linux.cpp).
func askJVM(t testing.TB, pid int, command string) {
	t.Helper()
	trigger, socket := fmt.Sprintf("/tmp/.attach_pid%d", pid), fmt.Sprintf("/tmp/.java_pid%d", pid)
	if err := os.WriteFile(trigger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(trigger)
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	var c net.Conn
	err := error(os.ErrDeadlineExceeded)
	for start := time.Now(); err != nil && time.Since(start) < time.Minute; {
		c, err = net.Dial("unix", socket)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "1\x00jcmd\x00%s\x00\x00\x00", command)
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(c); err != nil || !strings.HasPrefix(answer.String(), "0") {
		t.Fatalf("%s: got %q, %v", command, &answer, err)
	}
}
