package main

import (
	"context"
	"encoding/binary"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tool"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestRun stops a program at one of its steps, looks where it is, and sees it go on to the end.
func TestRun(t *testing.T) {
	path := needs.Compile(t, "testdata/worker.c", "gcc", "-O1", "-g", "-no-pie")
	p := tracee.Start(t, exec.Command(path)).Ready()
	running := tool.Start(t, func(ctx context.Context, out io.Writer) error {
		return run(ctx, out, path+":worker:step", "arg0 == 500")
	})
	p.Send("")
	if line := running.Line(); !strings.HasPrefix(line, "step ") || !strings.Contains(line, "worker.c:") {
		t.Errorf("it stands at %q", line)
	}
	var word [8]byte
	if err := procfs.ReadMemory(p.PID(), tracee.Symbol(t, path, "steps"), word[:]); err != nil {
		t.Fatal(err)
	}
	if n := binary.NativeEndian.Uint64(word[:]); n != 500 {
		t.Errorf("it stands at step %d", n)
	}
	if rest := strings.Join(running.End(), "\n"); !strings.Contains(rest, "main ") || !strings.Contains(rest, path) {
		t.Errorf("the callers and mappings are %s", rest)
	}
	if line := p.Line(); line != "done" {
		t.Errorf("it went on to %q", line)
	}
}
