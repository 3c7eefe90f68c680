package interop_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// object copies the generated object of a process to a file.
func object(t *testing.T, pid int) string {
	t.Helper()
	p := probe(t, pid, "hello", "tick")
	b, err := os.ReadFile(p.Attachable())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hello.so")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}

func TestReadelf(t *testing.T) {
	need(t, "readelf")
	path := object(t, startHello(t))
	out := output(t, "readelf", "-n", path)
	args := "8@%rdi 8@%rsi 8@%rdx"
	if runtime.GOARCH == "arm64" {
		args = "8@x0 8@x1 8@x2"
	}
	for _, want := range []string{"Provider: hello", "Name: tick", "Arguments: " + args, "Build ID: "} {
		if !strings.Contains(out, want) {
			t.Errorf("readelf -n does not print %q:\n%s", want, out)
		}
	}
	if all := output(t, "readelf", "-aW", path); regexp.MustCompile(`(?i)warning|error:`).MatchString(all) {
		t.Errorf("readelf -a complains:\n%s", all)
	}
}

func TestTplist(t *testing.T) {
	need(t, "tplist-bpfcc")
	out := output(t, "tplist-bpfcc", "-v", "-p", fmt.Sprint(startHello(t)))
	if !regexp.MustCompile(`hello:tick \[sema 0x[0-9a-f]+\]\s+1 location\(s\)\s+3 argument\(s\)`).MatchString(out) {
		t.Errorf("tplist does not list hello:tick with its semaphore and arguments:\n%s", out)
	}
}

func TestBpftool(t *testing.T) {
	need(t, "bpftool")
	out := output(t, "bpftool", "btf", "dump", "file", object(t, startHello(t)), "format", "c")
	if !regexp.MustCompile(`struct usdt_args_0 \{\s+unsigned long long seq;\s+const char \*msg;\s+double load;\s+unsigned long long __msg_len;\s+\}`).MatchString(out) {
		t.Errorf("bpftool does not print the argument struct:\n%s", out)
	}
}

func TestGDB(t *testing.T) {
	need(t, "gdb")
	out := output(t, "gdb", "-nx", "-batch", "-ex", "info probes stap", object(t, startHello(t)))
	if !regexp.MustCompile(`hello\s+tick\s+0x0*1000\s+0x[0-9a-f]+`).MatchString(out) {
		t.Errorf("gdb does not list the probe with its semaphore:\n%s", out)
	}
}

// TestBpftrace runs bpftrace as its users do, checks each value, and that its
// attaching raises the semaphore and its end lowers it.
func TestBpftrace(t *testing.T) {
	need(t, "bpftrace")
	pid := startHello(t)
	p := probe(t, pid, "hello", "tick")
	if n := semaphore(t, p); n != 0 {
		t.Fatalf("semaphore is %d before anybody attached", n)
	}
	cmd := exec.Command("bpftrace", "-p", fmt.Sprint(pid), "-e",
		`usdt:*:hello:tick { printf("%d %s\n", arg0, str(arg1)); @ += 1; if (@ > 2000) { exit(); } }`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	var said []string
	for got, last := 0, 0; got < 5; {
		if !lines.Scan() {
			t.Fatalf("bpftrace ended early: %v\n%s", cmd.Wait(), strings.Join(said, "\n"))
		}
		said = append(said, lines.Text())
		var seq, again int
		if n, _ := fmt.Sscanf(lines.Text(), "%d tick %d", &seq, &again); n != 2 {
			continue // "Attaching 1 probe..."
		}
		if seq != again || got > 0 && seq != last+1 {
			t.Errorf("event %d: got %q after %d", got, lines.Text(), last)
		}
		if got == 0 && semaphore(t, p) == 0 {
			t.Error("events arrive, but the semaphore is 0")
		}
		got, last = got+1, seq
	}
	cmd.Process.Signal(os.Interrupt)
	for lines.Scan() {
	}
	cmd.Wait()
	eventually(t, "the semaphore is 0 again", func() bool { return semaphore(t, p) == 0 })
}
