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
	tracee.Run(tracee.Roles{"tracer": traceParent})
	os.Exit(m.Run())
}

// traceParent reads the events of provider peers in the process that its argument
// names until stdin ends, and prints how many there were and how many were lost.
func traceParent(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	s, err := attach.Open(context.Background(), []string{"peers:watched"}, &attach.Options{Target: attach.Target{PIDs: []int{n}}})
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

// startTracer makes another process read the events of peers:watched. stop ends
// that process, and checks that n events were received and none was lost.
func startTracer(b *testing.B) (stop func(n int)) {
	b.Helper()
	p := tracee.StartVictim(b, tracee.Self("tracer", fmt.Sprint(os.Getpid())))
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
		if want := fmt.Sprintf("%d %d 0", n*len(message), n); text != want {
			b.Fatalf("letters, events and losses: got %s, want %s", text, want)
		}
	}
}
