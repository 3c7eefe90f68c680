package attach_test

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/reader"
)

// TestCloseAll checks that all are closed, by turns with ones that fail, and their errors joined.
func TestCloseAll(t *testing.T) {
	failure := errors.New("it cannot be closed")
	closed := make([]bool, 1000)
	all := make([]io.Closer, len(closed))
	for i := range all {
		all[i] = closing(func() error {
			closed[i] = true
			if i%100 == 0 {
				return failure
			}
			return nil
		})
	}
	err := attach.CloseAll(all...)
	for i := range closed {
		if !closed[i] {
			t.Fatalf("%d is open", i)
		}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) != 10 || !errors.Is(err, failure) {
		t.Errorf("got %v, want ten errors", err)
	}
}

type closing func() error

func (c closing) Close() error { return c() }

// BenchmarkCloseAll compares the price of closing attachments one after the other with that of
// closing them all at a time.
func BenchmarkCloseAll(b *testing.B) {
	p := start(b, exec.Command(compile(b, "gcc", "-O2")))
	probe := live.Probe(b, p.PID(), "args:bare")
	for _, n := range []int{1, 16, 258} {
		for _, together := range []bool{false, true} {
			if n > 16 && !together {
				continue // 15 s
			}
			b.Run(fmt.Sprintf("%d/together=%t", n, together), func(b *testing.B) {
				prog := nothing(b, ebpf.AttachTraceUprobeMulti)
				for b.Loop() {
					b.StopTimer()
					var all []*attach.Attachment
					for range n {
						a, err := attach.AttachProbes(prog, []reader.Probe{probe}, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{p.PID()}}})
						if err != nil {
							b.Fatal(err)
						}
						all = append(all, a)
					}
					b.StartTimer()
					if together {
						attach.CloseAll(all...)
						continue
					}
					for _, a := range all {
						a.Close()
					}
				}
			})
		}
	}
}
