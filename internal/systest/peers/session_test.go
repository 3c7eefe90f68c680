package peers

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func TestMain(m *testing.M) {
	tracee.Run(tracee.Roles{"tracer": traceParent, "holder": holdParent})
	os.Exit(m.Run())
}

// traceParent reads the events of a probe of provider peers in the process that its
// first argument names until stdin ends, and prints how many there were and how many
// were lost. The second argument names the probe, the third says that the process
// writes them to shared memory.
func traceParent(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	target := attach.Target{PIDs: []int{n}, Via: attach.ViaKernel}
	if args[2] == "local" {
		target.Via = attach.ViaLocal
	}
	s, err := attach.OpenEvents(context.Background(), []string{"peers:" + args[1]}, &attach.EventOptions{RingSize: 16 << 20}, &attach.Options{Target: target})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("ready")
	go func() {
		io.Copy(io.Discard, os.Stdin)
		s.Stop()
	}()
	letters := 0
	for v, err := range s.Views() {
		if err != nil {
			return err
		}
		letters += len(v.Arg(1).Bytes())
	}
	st, err := s.Stats()
	if err != nil {
		return err
	}
	fmt.Println(letters, st.Received, st.Lost)
	return nil
}

// holdParent attaches to a probe of provider peers in the process that its first
// argument names, through shared memory, and reads no event until stdin ends. The second
// argument names the probe, the third is a condition, which may be empty.
func holdParent(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	s, err := attach.Open(context.Background(), []string{"peers:" + args[1]}, &attach.Options{
		Target: attach.Target{PIDs: []int{n}, Via: attach.ViaLocal}, Where: args[2],
	})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// hold makes another process attach to a probe of peers through shared memory, with a
// condition, and read nothing until the benchmark ends.
func hold(b *testing.B, probe, where string) {
	b.Helper()
	p := tracee.StartVictim(b, tracee.Self("holder", fmt.Sprint(os.Getpid()), probe, where))
	if line, _ := p.Next(); line != "ready" {
		b.Fatalf("tracer: %v", p.End())
	}
	b.Cleanup(func() {
		p.EndInput()
		if err := p.End(); err != nil {
			b.Errorf("tracer: %v", err)
		}
	})
}

// startTracer makes another process read the events of a probe of peers, by the kernel
// or through shared memory. stop ends that process, and checks that n events were
// received, each with a text of so many letters, and none was lost.
func startTracer(b *testing.B, probe, via string, letters int) (stop func(n int)) {
	b.Helper()
	p := tracee.StartVictim(b, tracee.Self("tracer", fmt.Sprint(os.Getpid()), probe, via))
	if line, _ := p.Next(); line != "ready" {
		b.Skipf("needs root, or CAP_BPF and CAP_PERFMON, to trace: %v", p.End())
	}
	return func(n int) {
		b.Helper()
		p.EndInput()
		text := strings.TrimSpace(p.Rest())
		if err := p.End(); err != nil {
			b.Fatalf("tracer: %v: %s", err, text)
		}
		if want := fmt.Sprintf("%d %d 0", n*letters, n); text != want {
			b.Fatalf("letters, events and losses: got %s, want %s", text, want)
		}
	}
}
