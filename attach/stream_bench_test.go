package attach_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// BenchmarkStream measures how many events of a flood arrive per second, and how
// many do not. One process fires three integers each, to a session's consumer
// that decodes them and, by turns, to bpftrace's printf, with buffers of the same
// size.
func BenchmarkStream(b *testing.B) {
	if _, err := exec.LookPath("bpftrace"); err != nil {
		needs.Skip(b, "needs bpftrace: %v", err)
	}
	const events, rounds, buffer = 500_000, 3, 16 << 20
	p := startChild(b, "fire")
	p.Do("load")
	rates, lost := map[string][]float64{}, map[string]int{}
	for b.Loop() {
		for range rounds {
			for name, stream := range map[string]func(testing.TB, *tracee.Program, int, int) (int, time.Duration){
				"session": toSession, "bpftrace": toBpftrace,
			} {
				n, took := stream(b, p, events, buffer)
				rates[name] = append(rates[name], float64(n)/took.Seconds())
				lost[name] += events - n
			}
		}
	}
	median := func(name string) float64 {
		slices.Sort(rates[name])
		return rates[name][len(rates[name])/2]
	}
	for name := range rates {
		b.ReportMetric(median(name), name+"-events/s")
		b.ReportMetric(100*float64(lost[name])/float64(events*len(rates[name])), name+"-%lost")
	}
	b.ReportMetric(median("session")/median("bpftrace"), "session/bpftrace")
	b.ReportMetric(0, "ns/op")
}

// toSession returns how many events arrive, and how long firing them takes.
func toSession(t testing.TB, p *tracee.Program, events, buffer int) (int, time.Duration) {
	s := openEvents(t, "bench:three", &attach.EventOptions{RingSize: buffer}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	defer s.Close()
	received := make(chan int)
	go func() {
		n := 0
		for ev, err := range s.Events() {
			if err == nil && ev.Args[2].Value == uint64(7) {
				n++
			}
		}
		received <- n
	}()
	start := time.Now()
	p.Do("%d", events)
	took := time.Since(start)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	n := <-received
	if st := checkSum(t, s); st.Received != uint64(n) {
		t.Fatalf("received %d events, want the %d of the statistics", n, st.Received)
	}
	return n, took
}

// toBpftrace is toSession for a bpftrace that writes into a pipe.
func toBpftrace(t testing.TB, p *tracee.Program, events, buffer int) (int, time.Duration) {
	n, took, _ := readBpftrace(t, p, events, `usdt:*:bench:three { printf("%d %d %d\n", arg0, arg1, arg2); }`, buffer)
	if n == 0 {
		t.Fatal("bpftrace delivered no event")
	}
	return n, took
}

// readBpftrace has a child fire events, whose last argument is 7, for a program of bpftrace.
// It returns how many lines end in " 7", how long firing takes, and how long it is until the
// last line is read. For events that end in 8 instead, the program prints such lines.
func readBpftrace(t testing.TB, p *tracee.Program, events int, program string, buffer int, env ...string) (delivered int, fired, read time.Duration) {
	cmd := exec.Command("bpftrace", "-B", "full", "-p", fmt.Sprint(p.PID()), "-e", program)
	cmd.Env = append(append(os.Environ(), env...), fmt.Sprintf("BPFTRACE_PERF_RB_PAGES=%d", buffer/os.Getpagesize()/cpus(t)))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	// bpftrace attaches its program some time after everything else: wait for
	// events of another kind.
	first, received := make(chan struct{}), make(chan int)
	go func() {
		n, lines := 0, bufio.NewScanner(out)
		for warm := false; lines.Scan(); {
			switch line := lines.Bytes(); {
			case bytes.HasSuffix(line, []byte(" 7")):
				n++
			case bytes.HasSuffix(line, []byte(" 8")) && !warm:
				warm = true
				close(first)
			}
		}
		received <- n
	}()
	for deadline, waiting := time.After(30*time.Second), true; waiting; {
		p.Do("1000 8")
		select {
		case <-first:
			waiting = false
		case <-deadline:
			t.Fatalf("bpftrace delivers nothing: %s", stderr.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	start := time.Now()
	p.Do("%d", events)
	fired = time.Since(start)
	cmd.Process.Signal(os.Interrupt)
	delivered = <-received
	read = time.Since(start)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("bpftrace delivered %d events: %v %s", delivered, err, stderr.String())
	}
	return delivered, fired, read
}

func cpus(t testing.TB) int {
	t.Helper()
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for part := range bytes.SplitSeq(bytes.TrimSpace(b), []byte(",")) {
		var from, to int
		if got, _ := fmt.Sscanf(string(part), "%d-%d", &from, &to); got < 2 {
			to = from
		}
		n += to - from + 1
	}
	return n
}
