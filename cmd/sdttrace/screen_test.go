package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/internal/systest/pty"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// startOnTerminal runs sdttrace on a terminal of its own.
func startOnTerminal(t *testing.T, dir string, slave *os.File, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), args...)
	cmd.Env = append(os.Environ(), "TERM=xterm")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

// TestHeatInPlace draws a latency's rows with a heat line, on a terminal of 60 columns.
func TestHeatInPlace(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	p := startTraced(t, dir, "heat")
	master, slave := pty.Open(t)
	shown := pty.Show(t, master, 60, 12)
	cmd := startOnTerminal(t, dir, slave, "latency", "heat_pair:begin", "heat_pair:end", "-q", "-p", fmt.Sprint(p.PID()), "--by", "msg", "--interval", "100ms")
	row := regexp.MustCompile(`^ *[0-9]+( +[0-9.]+[nµm]?s){4}  [ ░▒▓]*█[ ░▒▓█]*  "message"$`)
	shown.Await(t, "a heat line", func(lines []string) bool {
		return len(lines) > 2 && strings.HasSuffix(lines[0], " of 10 × 100ms") && strings.HasSuffix(lines[1], "  heat  msg") && row.MatchString(lines[2])
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("sdttrace ends with %v", err)
	}
	shown.Await(t, "a summary that is broken between words", func(lines []string) bool {
		return slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "  ") && strings.HasSuffix(line, " of 2 sites")
		})
	})
}

// TestErrorOnTerminal has an error that is wider than the terminal: it is broken between words.
func TestErrorOnTerminal(t *testing.T) {
	dir := commands(t, "sdttrace")
	master, slave := pty.Open(t)
	shown := pty.Show(t, master, 60, 10)
	cmd := startOnTerminal(t, dir, slave, "latency", "a:b", "c:d", "--limit", "3")
	if err := cmd.Wait(); err == nil {
		t.Error("sdttrace ends without an error")
	}
	shown.Await(t, "an error of two lines", func(lines []string) bool {
		return len(lines) > 1 && lines[0] == "sdttrace: --limit is for the pairs of --slower: others are" && lines[1] == "  added up"
	})
}

// TestGroupsInPlace draws groups on a terminal, which becomes smaller and larger.
func TestGroupsInPlace(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	p := startTraced(t, dir, "inplace")
	master, slave := pty.Open(t)
	shown := pty.Show(t, master, 100, 12)
	cmd := startOnTerminal(t, dir, slave, "count", "-p", fmt.Sprint(p.PID()), "--by", "seq", "--interval", "100ms", "inplace:tick")
	titles := func(lines []string) (n int) {
		for _, line := range lines {
			if strings.Contains(line, " events in ") {
				n++
			}
		}
		return n
	}
	full := func(width, height int) func([]string) bool {
		return func(lines []string) bool {
			wide := 0
			for _, line := range lines {
				wide = max(wide, len([]rune(line)))
			}
			return len(lines) == height-1 && wide <= width && titles(lines) == 1 && strings.HasPrefix(lines[len(lines)-1], "... ")
		}
	}
	// More and more groups are shown, and idle groups stay.
	lines := shown.Await(t, "a full terminal", full(100, 12))
	if strings.Contains(lines[0], "attached to") {
		t.Errorf("what was written before was not moved up: %q", lines)
	}
	_, before := shown.Lines()
	first := lines[0]
	shown.Await(t, "another interval", func(lines []string) bool { return full(100, 12)(lines) && lines[0] != first })
	if _, after := shown.Lines(); after != before {
		t.Errorf("the groups of a further interval have moved %d lines out of the terminal", after-before)
	}
	for _, size := range [][2]int{{30, 5}, {120, 20}} {
		shown.Resize(t, size[0], size[1]) // which sends SIGWINCH
		shown.Await(t, fmt.Sprintf("%v lines and columns full", size), full(size[0], size[1]))
	}
	// As by Ctrl-Z, a command, and fg.
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(cmd.Process.Pid, nil, unix.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(slave, "what another program says\r\n")
	shown.Await(t, "what another program says", func(lines []string) bool {
		return strings.HasPrefix(lines[len(lines)-1], "what another")
	})
	_, before = shown.Lines()
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	shown.Await(t, "a frame below what another program has said", func(lines []string) bool {
		_, after := shown.Lines()
		return after >= before+18 && full(120, 20)(lines)
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("sdttrace ends with %v", err)
	}
	shown.Await(t, "the summary", func(lines []string) bool {
		return strings.Contains(lines[len(lines)-1], " 0 lost, 0 filtered; attached 1 of 1 site")
	})
}

// TestGroupsOnDumbTerminal checks that groups are not drawn in place where that is not
// possible.
func TestGroupsOnDumbTerminal(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	p := startTraced(t, dir, "dumbterminal")
	var stdout, stderr tracee.Output
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), "count", "-p", fmt.Sprint(p.PID()), "--interval", "50ms", "dumbterminal:tick")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); strings.Count(stdout.String(), "\n") < 2 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
		skipRefused(t, &stderr)
	}
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	if got := stdout.String(); strings.Contains(got, "\x1b") || strings.Count(got, "\n") < 2 {
		t.Errorf("on no terminal: got %q", got)
	}
	master, slave := pty.Open(t)
	pty.Show(t, master, 80, 24)
	t.Setenv("TERM", "dumb")
	if s := screen.New(slave); s != nil {
		t.Error("a screen on a dumb terminal")
	}
}

// TestListInPlace watches a probe that a tracer comes to and leaves, by a list on a
// terminal and by one in JSON.
func TestListInPlace(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	p := startTraced(t, dir, "listagain")
	master, slave := pty.Open(t)
	shown := pty.Show(t, master, 60, 10)
	cmd := startOnTerminal(t, dir, slave, "list", "--interval", "50ms", "-p", fmt.Sprint(p.PID()), "listagain:*")
	plain := exec.Command(filepath.Join(dir, "sdttrace"), "list", "--interval", "50ms", "--json", "-p", fmt.Sprint(p.PID()), "listagain:tick")
	var lines tracee.Output
	plain.Stdout = &lines
	if err := plain.Start(); err != nil {
		t.Fatal(err)
	}
	defer plain.Process.Kill()
	// Above the list may be a message: that the tracer, which leaves, is unknown.
	state := func(title string) func([]string) bool {
		return func(lines []string) bool {
			above := len(lines) - 3
			if above < 0 {
				return false
			}
			list := lines[above:]
			return strings.HasSuffix(list[0], title) && strings.HasPrefix(list[1], "PID ") && strings.Contains(list[2], "listagain:tick")
		}
	}
	shown.Await(t, "a probe", state("  1 probe, 0 watched"))
	lines.Await(t, `{"time":"`)
	lines.Await(t, `"semaphore_value":0`)
	_, stop := startTracer(t, filepath.Join(dir, "sdttrace"), "-p", fmt.Sprint(p.PID()), "listagain:tick")
	shown.Await(t, "a watched probe", state("  1 probe, 1 watched"))
	lines.Await(t, `"semaphore_value":1`)
	stop()
	shown.Await(t, "that nobody watches", state("  1 probe, 0 watched"))
	for _, c := range []*exec.Cmd{cmd, plain} {
		if err := c.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("%v ends with %v", c.Args, err)
		}
	}
	if got := lines.String(); strings.Contains(got, "\x1b") {
		t.Errorf("got %q, want no control sequences", got)
	}
}
