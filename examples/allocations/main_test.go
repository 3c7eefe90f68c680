package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tool"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestRun compares a profile with what the functions of a program allocate.
func TestRun(t *testing.T) {
	p := tracee.Start(t, exec.Command(needs.Compile(t, "testdata/allocates.c", "gcc", "-O1", "-g"))).Ready()
	file := filepath.Join(t.TempDir(), "p")
	running := tool.Start(t, func(ctx context.Context, out io.Writer) error { return run(ctx, out, p.PID(), file) })
	p.Do("")
	running.End()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read, err := pprof.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]int64{}
	for _, s := range read.Sample {
		for _, l := range s.Location {
			for _, line := range l.Line {
				sum := got[line.Function.Name]
				got[line.Function.Name] = [2]int64{sum[0] + s.Value[0], sum[1] + s.Value[1]}
			}
		}
	}
	for name, want := range map[string][2]int64{"large": {30, 3000000}, "small": {2000, 48000}} {
		if got[name] != want {
			t.Errorf("%s: got %d, want %d, in %v", name, got[name], want, got)
		}
	}
}
