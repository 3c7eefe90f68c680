package peers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// tracerRole is the environment variable that makes this binary a tracer of the
// process that it names.
const tracerRole = "PEERS_TRACE"

func TestMain(m *testing.M) {
	if pid, ok := os.LookupEnv(tracerRole); ok {
		if err := traceParent(pid); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// traceParent reads the events of provider peers until stdin ends, and says how
// many there were and how many were lost.
func traceParent(pid string) error {
	n, err := strconv.Atoi(pid)
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

// startTracer has another process read the events of peers:watched. What it
// returns ends that, and checks that n events were received and none was lost.
func startTracer(b *testing.B) (stop func(n int)) {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", tracerRole, os.Getpid()))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		cmd.Wait()
		b.Skipf("needs root, or CAP_BPF and CAP_PERFMON, to trace: %s", lines.Text())
	}
	return func(n int) {
		b.Helper()
		in.Close()
		lines.Scan()
		text := lines.Text()
		if err := cmd.Wait(); err != nil {
			b.Fatalf("tracer: %v: %s", err, text)
		}
		if want := fmt.Sprintf("%d %d 0", n*len(message), n); strings.TrimSpace(text) != want {
			b.Fatalf("letters, events and losses: got %s, want %s", text, want)
		}
	}
}
