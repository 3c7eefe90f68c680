package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	systest "github.com/go-usdt/usdt/internal/systest/timeline"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestKernelTimeline draws a program's probe and the writes of the kernel that follow it in one timeline, in the thread in
// which both are.
func TestKernelTimeline(t *testing.T) {
	needs.Kprobes(t)
	program := needs.Compile(t, "testdata/query.c", "gcc", "-O2")
	dir := t.TempDir()
	p := tracee.Start(t, exec.Command(program, filepath.Join(dir, "table"))).Ready()
	path := filepath.Join(dir, "trace")
	const writes, queries, idle = 2, 5, 3
	command := fmt.Sprintf("sdttrace timeline -o %s -p %d --span kprobe:vfs_write,kretprobe:vfs_write postgresql:query__start", path, p.PID())
	follow(t, command, func() { p.Do("%d %d %d", writes, queries, idle) })
	trace := systest.ReadFile(t, path)
	starts, files := 0, 0
	var last *systest.Slice
	for _, s := range trace.Slices {
		switch {
		case s.PID != p.PID() || s.TID != p.PID():
			t.Errorf("%+v is not in the program's thread", s)
		case s.Instant:
			starts++
			last = s
		case s.Args["count"] == int64(200) || s.Args["count"] == uint64(200): // bytes of a row; the program also answers
			if files++; files > writes && (last == nil || s.At < last.At || s.Took <= 0) {
				t.Errorf("%+v does not follow a query", s)
			}
		}
	}
	if starts != queries+idle || files != writes+queries {
		t.Errorf("%d queries and %d writes, want %d and %d: %+v", starts, files, queries+idle, writes+queries, trace.Slices)
	}
}
