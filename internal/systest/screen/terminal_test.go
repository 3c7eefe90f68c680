package screen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// terminal is a terminal in which a shell runs.
type terminal struct {
	t    testing.TB
	dir  string // for files of the test
	runs int    // how many commands have begun
}

const (
	width, height = 120, 30
	patience      = time.Minute
)

// newTerminal starts a shell in a terminal.
func newTerminal(t testing.TB) *terminal {
	t.Helper()
	needs.Tools(t, "tmux")
	s := &terminal{t: t, dir: t.TempDir()}
	s.tmux("new-session", "-d", "-s", "test", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "exec env PS1='$ ' /bin/sh")
	t.Cleanup(func() { s.tmux("kill-server") })
	s.await("$")
	return s
}

func (s *terminal) tmux(args ...string) string {
	s.t.Helper()
	return needs.Run(s.t, "tmux", append([]string{"-S", filepath.Join(s.dir, "socket"), "-f", "/dev/null"}, args...)...)
}

// press presses keys, which have tmux's names, or types text.
func (s *terminal) press(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys", "-t", "test"}, keys...)...)
}

// text returns what the terminal shows.
func (s *terminal) text() string {
	s.t.Helper()
	return s.tmux("capture-pane", "-p", "-t", "test")
}

// await waits until the terminal shows all texts, and returns what it shows.
func (s *terminal) await(texts ...string) string {
	s.t.Helper()
	return s.awaitThat(fmt.Sprintf("%q in it", texts), func(shown string) bool {
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false
			}
		}
		return true
	})
}

// awaitThat waits until what the terminal shows is as wanted, or the command has ended
// without showing it.
func (s *terminal) awaitThat(want string, is func(shown string) bool) string {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		shown := s.text()
		if is(shown) {
			return shown
		}
		if _, err := os.Stat(s.after()); err == nil {
			if shown = s.text(); is(shown) {
				return shown
			}
			break
		}
	}
	s.t.Fatalf("the terminal shows\n%s\nwant %s", s.text(), want)
	return ""
}

// before and after are files with the terminal's settings before and after the command.
func (s *terminal) before() string { return fmt.Sprintf("%s/before%d", s.dir, s.runs) }
func (s *terminal) after() string  { return fmt.Sprintf("%s/after%d", s.dir, s.runs) }

// begin runs a command, and notes the terminal's settings before and after it.
func (s *terminal) begin(command string) {
	s.t.Helper()
	s.runs++
	s.press("-l", fmt.Sprintf("stty -g >%s; %s; echo ended with $?; stty -g >%s.new; mv %[3]s.new %[3]s", s.before(), command, s.after()))
	s.press("Enter")
}

// ended waits until the command has ended, and checks that the terminal is as it was.
func (s *terminal) ended(code int) string {
	s.t.Helper()
	s.awaitThat("the command's end", func(string) bool {
		_, err := os.Stat(s.after())
		return err == nil
	})
	shown := s.await(fmt.Sprintf("\nended with %d\n", code))
	if got := strings.TrimSpace(s.tmux("display-message", "-p", "-t", "test", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}")); got != "0 1 0" {
		s.t.Errorf("alternate screen, cursor and mouse: %s, want 0 1 0", got)
	}
	before, err := os.ReadFile(s.before())
	if err != nil {
		s.t.Fatal(err)
	}
	after, err := os.ReadFile(s.after())
	if err != nil {
		s.t.Fatal(err)
	}
	if string(before) != string(after) {
		s.t.Errorf("the terminal's settings are %s, and were %s", after, before)
	}
	return shown
}

// running returns the process that the shell runs.
func (s *terminal) running() int {
	s.t.Helper()
	shell := strings.TrimSpace(s.tmux("display-message", "-p", "-t", "test", "#{pane_pid}"))
	children, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%[1]s/children", shell))
	if err != nil {
		s.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		s.t.Fatalf("the shell runs %q, want one process: %v", children, err)
	}
	return pid
}
