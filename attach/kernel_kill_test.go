package attach_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func init() {
	// kerneltracer attaches to functions of the kernel and detaches until it is killed.
	roles["kerneltracer"] = tracee.Obey(func(selector string) error {
		attached := func() error {
			s, err := attach.Open(context.Background(), []string{selector}, functionsOf(os.Getpid(), ""))
			if err != nil {
				return err
			}
			return s.Close()
		}
		if err := attached(); err != nil {
			return err
		}
		go func() {
			for attached() == nil {
			}
		}()
		return nil
	})
}

// TestKernelTracerKilled kills tracers while they attach to functions of the kernel and detach: the kernel patches none of
// them afterwards.
func TestKernelTracerKilled(t *testing.T) {
	needs.Kprobes(t)
	selector, most := "kprobe:tcp_*", 300*time.Millisecond
	if attach.KprobesAlone(t) {
		selector = "kprobe:vfs_fallocate"
	}
	patched := func() int {
		text, err := os.ReadFile("/sys/kernel/tracing/enabled_functions")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	before := patched()
	for range 12 {
		p := startChild(t, "kerneltracer")
		p.Do("%s", selector)
		time.Sleep(rand.N(most))
		p.Kill()
		for deadline := time.Now().Add(time.Minute); patched() != before; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the kernel patches %d functions, want %d as before", patched(), before)
			}
		}
	}
}
