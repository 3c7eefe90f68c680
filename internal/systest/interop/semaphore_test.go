package interop_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestBpftrace runs bpftrace as its users do, and checks each value, that
// attaching raises the semaphore, and that the end lowers it.
func TestBpftrace(t *testing.T) {
	need(t, "bpftrace")
	pid := startHello(t)
	p := probe(t, pid, "hello", "tick")
	for deadline := time.Now().Add(patience); semaphore(t, p) != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) { // tests of other packages trace the whole machine
			t.Fatalf("semaphore is %d before anybody attached", semaphore(t, p))
		}
	}
	cmd := exec.Command("bpftrace", "-p", fmt.Sprint(pid), "-e",
		`usdt:*:hello:tick { printf("%d %s\n", arg0, str(arg1)); @ += 1; if (@ > 2000) { exit(); } }`)
	tracer := tracee.StartVictim(t, cmd)
	for got, last := 0, 0; got < 5; {
		line := tracer.Line()
		var seq, again int
		if n, _ := fmt.Sscanf(line, "%d tick %d", &seq, &again); n != 2 {
			continue // "Attaching 1 probe..."
		}
		if seq != again || got > 0 && seq != last+1 {
			t.Errorf("event %d: got %q after %d", got, line, last)
		}
		if got == 0 && semaphore(t, p) == 0 {
			t.Error("events arrive, but the semaphore is 0")
		}
		got, last = got+1, seq
	}
	tracer.Signal(os.Interrupt)
	tracer.Rest()
	tracer.End()
	eventually(t, "the semaphore is 0 again", func() bool { return semaphore(t, p) == 0 })
}
