package hostile_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestTerminal inspects a hostile program with every command and format. The
// output is printable text, and the program adds no lines of its own. All outputs
// show the program's names except completion, which leaves them out.
func TestTerminal(t *testing.T) {
	exe := hostile(t)
	sdtdump, sdttrace := needs.Build(t, "cmd/sdtdump"), needs.Build(t, "cmd/sdttrace")
	p := tracee.Start(t, exec.Command(exe))
	pid := fmt.Sprint(p.PID())
	trace := func(args ...string) []string {
		return append(append([]string{sdttrace}, args...), "-p", pid, "--str", "arg0", "--rescan", "0")
	}
	for _, command := range [][]string{
		{sdtdump, "--symbols", "--disasm", exe},
		{sdtdump, "--json", "--disasm", exe},
		{sdtdump, "--format", "bpftrace", exe},
		{sdtdump, "--format", "uprobe_events", exe},
		{sdtdump, "-p", pid},
		{sdtdump, "--probe", "\x1b31m:\u202e", exe},  // names nothing
		{sdtdump, "--probe", "\x1b[31m:\u202e", exe}, // is no pattern
		{sdtdump, "__complete", "--probe", ""},
		{sdttrace, "list", "-p", pid},
		{sdttrace, "list", "--json", "-p", pid},
		{sdttrace, "__complete", ""},
		trace("--limit", "4", "*:*"),
		trace("--limit", "4", "--json", "*:*"),
		trace("count", "--duration", "1s", "--by", "arg0,comm,probe", "*:*"),
		trace("count", "--duration", "1s", "--by", "arg0,comm,probe", "--json", "*:*"),
		{sdttrace, "top", "-p", pid, "--duration", "1s"},
		trace("--where", "\x1b[2J", "*:*"),
	} {
		t.Run(command[0][strings.LastIndexByte(command[0], '/')+1:]+strings.Join(command[1:], " "), func(t *testing.T) {
			cmd := exec.Command(command[0], command[1:]...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			for running := true; running; {
				select {
				case <-ended: // 1 if something in the file is wrong, as it is
					running = false
				default:
					p.Do("")
				}
			}
			said := stdout.String() + stderr.String()
			shows := strings.Contains(said, `\x1b`) || strings.Contains(said, `\u001b`)
			if completes := command[1] == "__complete"; shows == completes {
				t.Errorf("shows an escape sequence %v, want %v: %s", shows, !completes, said)
			}
			check(t, "stdout", stdout.String())
			check(t, "stderr", stderr.String())
			if command[1] == "__complete" {
				checkWords(t, stdout.String())
			}
		})
	}
}

// words matches what completion may offer: a shell expands none of these
// characters.
var words = regexp.MustCompile(`^[\w.+:/-]*\*?$`)

// checkWords checks that a shell may use what completion offers.
func checkWords(t *testing.T, offered string) {
	t.Helper()
	for line := range strings.Lines(offered) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !words.MatchString(word) {
			t.Errorf("completion offers %q", word)
		}
	}
}

// check checks that a terminal may show text.
func check(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is not UTF-8: %q", what, text)
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && !strconv.IsPrint(r) {
			t.Errorf("%s has the character %U: %q", what, r, text)
			break
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "INJECTED") || strings.HasPrefix(line, "BEGIN") ||
			strings.HasPrefix(line, "$(") || strings.HasPrefix(line, "`") {
			t.Errorf("%s has a line of the program's: %q", what, line)
		}
	}
}

// TestBpftrace checks that a program cannot put code of its own into a script.
func TestBpftrace(t *testing.T) {
	exe := hostile(t)
	out, _ := exec.Command(needs.Build(t, "cmd/sdtdump"), "--format", "bpftrace", exe).Output()
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "//") {
			continue
		}
		// The only quotes are those of the probe's parts and of the format.
		if n := strings.Count(line, `"`); n%2 != 0 || !strings.HasPrefix(line, "usdt:") || strings.Contains(line, "exit()") {
			t.Errorf("line %q", line)
		}
	}
	if !strings.Contains(string(out), "%%s%%n") {
		t.Errorf("no probe whose name holds a format, with the format taken out: %s", out)
	}
}
