package attach_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["panics"] = tracee.Obey(panicsChild()) }

// panicsChild sees a sysctl as set that is not. Its command names the sysctl, a
// file to show in its place, and testdata/nops.S. It needs a mount namespace of
// its own.
func panicsChild() func(string) error {
	p := provider.New("panics", nil)
	provider.NewProbe1[int](p, "probe", "n")
	return func(command string) error {
		var sysctl, file, nops string
		if _, err := fmt.Sscan(command, &sysctl, &file, &nops); err != nil {
			return err
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		if err := unix.Mount(file, "/proc/sys/kernel/"+sysctl, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		if err := p.Load(); err != nil {
			return err
		}
		for _, force := range []bool{false, true} {
			plan, err := attach.Find(context.Background(), []string{nops + ":nops:*"}, &attach.FindOptions{Force: force})
			if err != nil {
				return err
			}
			for i := range plan {
				if err := endangered(&plan[i], force); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// endangered returns an error if the plan of a site is wrong for a kernel that
// panics when it warns.
func endangered(s *attach.Site, force bool) error {
	optimized := map[sys.Optimization]string{sys.OptimizesNop5: "nop5", sys.OptimizesNop10: "nop10"}[sys.UprobeOptimization()]
	refused := s.Probe.Name == optimized && !force
	if errors.Is(s.Reason, attach.ErrPanic) != refused || s.Probe.Name == optimized && force && s.Reason != nil {
		return fmt.Errorf("%s: reason %w, want it to be refused for a panic: %v", s.Probe.Name, s.Reason, refused)
	}
	if s.Offset != s.Probe.Offset {
		return fmt.Errorf("%s: moved to %#x from %#x", s.Probe.Name, s.Offset, s.Probe.Offset)
	}
	return nil
}

// TestPanicOnWarn checks that sites which the kernel would optimise are neither
// attached to nor declared where it panics when it warns.
func TestPanicOnWarn(t *testing.T) {
	needs.Root(t)
	nops := assemble(t, "testdata/nops.S")
	for sysctl, value := range map[string]string{"panic_on_warn": "1\n", "warn_limit": "100\n"} {
		t.Run(sysctl, func(t *testing.T) {
			if _, err := os.Stat("/proc/sys/kernel/" + sysctl); err != nil {
				needs.Skip(t, "this kernel has no kernel.%s: %v", sysctl, err)
			}
			file := filepath.Join(t.TempDir(), sysctl)
			if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := tracee.Self("panics")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
			p := start(t, cmd)
			p.Do("%s %s %s", sysctl, file, nops)
			live.Check(t, p.PID(), "panics:probe", 0x90, 0) // nop
		})
	}
}
