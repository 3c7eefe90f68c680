package sdtdump

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/pty"
)

func TestColor(t *testing.T) {
	prog := compile(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	run := func(stdout *os.File) {
		if code := Run([]string{prog}, stdout, io.Discard); code != exitDone {
			t.Fatalf("got exit code %d", code)
		}
		stdout.Close()
	}
	onTerminal := func() string {
		master, slave := pty.Open(t)
		text := make(chan string)
		go func() {
			data, _ := io.ReadAll(master) // it ends with EIO
			text <- string(data)
		}()
		run(slave)
		return <-text
	}
	if got := onTerminal(); !strings.Contains(got, string(bold)+prog+string(normal)) {
		t.Errorf("on a terminal: got %q, want a bold %s", got, prog)
	}
	t.Setenv("TERM", "dumb")
	if got := onTerminal(); got == "" || strings.Contains(got, "\x1b") {
		t.Errorf("on a dumb terminal: got %q", got)
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	if got := onTerminal(); got == "" || strings.Contains(got, "\x1b") {
		t.Errorf("with NO_COLOR: got %q", got)
	}
	t.Setenv("NO_COLOR", "")
	if got := output(t, prog); strings.Contains(got, "\x1b") {
		t.Errorf("without a terminal: got %q", got)
	}
}

// watched is a writer that reports each write.
type watched struct {
	bytes.Buffer
	wrote chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	select {
	case w.wrote <- struct{}{}:
	default:
	}
	return n, err
}

func TestProgress(t *testing.T) {
	w := &watched{wrote: make(chan struct{}, 1)}
	p := newProgress(w, 0)
	p.reads("dir/\x1bfile")
	<-w.wrote
	io.WriteString(p.behind(w), "an error\n")
	p.stop()
	got := w.String()
	line := eraseLine + "1 read, dir/\\x1bfile"
	if !strings.HasPrefix(got, line) || !strings.Contains(got, line+eraseLine+"an error\n") {
		t.Errorf("got %q, want the line %q, erased before the error", got, line)
	}
	rest := got[strings.Index(got, "an error\n")+len("an error\n"):]
	if rest != "" && !strings.HasSuffix(rest, eraseLine) {
		t.Errorf("got %q, want nothing or an erased line at the end", rest)
	}

	w = &watched{wrote: make(chan struct{}, 1)}
	p = newProgress(w, time.Hour)
	p.reads("file")
	p.stop()
	if w.Len() > 0 {
		t.Errorf("got %q of work that was short", w.String())
	}
}
