// Package tool runs a tool of examples in a test: its run function, beside what it traces.
package tool

import (
	"bufio"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// Tool is one that runs.
type Tool struct {
	First string // the line that says that it traces

	t      testing.TB
	cancel context.CancelFunc
	lines  *bufio.Scanner
	ended  chan error
}

// Start returns when the tool has printed its first line. It skips the test without the privileges
// to trace.
func Start(t testing.TB, run func(ctx context.Context, out io.Writer) error) *Tool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	out, in := io.Pipe()
	tool := &Tool{t: t, cancel: cancel, lines: bufio.NewScanner(out), ended: make(chan error, 1)}
	go func() {
		err := run(ctx, in)
		in.Close()
		tool.ended <- err
	}()
	if !tool.lines.Scan() {
		err := <-tool.ended
		if missing := (*attach.PrivilegeError)(nil); errors.As(err, &missing) {
			needs.Skip(t, "%v", err)
		}
		t.Fatalf("ended early: %v", err)
	}
	tool.First = tool.lines.Text()
	return tool
}

// Line returns the next line.
func (t *Tool) Line() string {
	t.t.Helper()
	if !t.lines.Scan() {
		t.t.Fatalf("no line: %v", <-t.ended)
	}
	return t.lines.Text()
}

// End does what Ctrl-C does, and returns the remaining lines.
func (t *Tool) End() (rest []string) {
	t.t.Helper()
	t.cancel()
	for t.lines.Scan() {
		rest = append(rest, t.lines.Text())
	}
	if err := <-t.ended; err != nil {
		t.t.Fatal(err)
	}
	return rest
}
