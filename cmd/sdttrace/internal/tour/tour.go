// Package tour traces a demo service, and shows what there is to see.
package tour

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/internal/demo"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/sdtdump"
)

const (
	probes   = "shop:*"
	events   = 12              // that are printed
	duration = 3 * time.Second // of tracing
)

// Run traces a service that it starts and stops. command is the one that does so with privileges.
func Run(ctx context.Context, command string, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	hello, stop, err := startService(ctx, stderr)
	if err != nil {
		return fmt.Errorf("start the demo's service: %w", err)
	}
	defer stop()
	fmt.Fprintf(stdout, "A web shop runs as process %d at %s. Its probes are declared in Go and mapped from memory.\n\n", hello.PID, hello.URL)

	unwatched, err := measure(ctx, hello, 2_000_000)
	if err != nil {
		return err
	}
	s, err := attach.Open(ctx, []string{probes}, &attach.Options{Target: attach.Target{PIDs: []int{hello.PID}}})
	if err == nil && s.Via() == attach.ViaLocal {
		fmt.Fprint(stdout, "This process may not trace via the kernel. It shares memory with the service, which offers its probes to its user.\n\n")
	}
	if p := (*attach.PrivilegeError)(nil); errors.As(err, &p) {
		return without(p, hello, command, stdout, stderr)
	} else if err != nil {
		return err
	}
	defer s.Close()
	latency, err := showEvents(ctx, s, hello, stdout)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nTime in the handler, from the argument ms of shop:request_done:\n\n%s", latency)
	costs, err := measureWatched(ctx, s.Via(), hello)
	if err != nil {
		return err
	}
	stats, err := s.Stats()
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nA probe of three arguments, a string among them, costs this service %s while nobody watches it, %s.\n",
		nanos(unwatched), costs)
	fmt.Fprintf(stdout, "%s, %d lost; attached %d of %s; detached again.\n",
		printable.Many(stats.Received, "event", "events"), stats.Lost, s.Plan().Attached(), printable.Many(len(s.Plan()), "site", "sites"))
	return nil
}

// startService runs this program as the demo's service until stop is called or
// this process ends.
func startService(ctx context.Context, stderr io.Writer) (hello demo.Hello, stop func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return hello, nil, err
	}
	cmd := exec.CommandContext(ctx, exe, "demo-service")
	cmd.Stderr = output.Inherited(stderr)
	cmd.Env = append([]string{"USDT_LOCAL=1"}, os.Environ()...) // the last value counts
	in, err := cmd.StdinPipe()
	if err != nil {
		return hello, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return hello, nil, err
	}
	if err := cmd.Start(); err != nil {
		return hello, nil, err
	}
	stop = func() {
		in.Close()
		cmd.Wait()
	}
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&hello); err != nil {
		stop()
		return hello, nil, err
	}
	return hello, stop, nil
}

// showEvents prints the first events of s while customers visit the service,
// and returns how long its handler took.
func showEvents(ctx context.Context, s *attach.Session, hello demo.Hello, stdout io.Writer) (*latency, error) {
	fmt.Fprintf(stdout, "sdttrace -p %d '%s'\n\n", hello.PID, probes)
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	context.AfterFunc(ctx, func() { s.Stop() })
	served := make(chan int)
	go func() { served <- demo.Load(ctx, hello.URL) }()

	l := new(latency)
	n := 0
	for ev, err := range s.Events() {
		if err != nil {
			return nil, err
		}
		if n++; n <= events {
			fmt.Fprintf(stdout, "%s\n", format.AppendText(nil, &ev))
		}
		if ev.Name == "request_done" {
			l.add(&ev)
		}
	}
	if requests := <-served; n == 0 {
		return nil, fmt.Errorf("no probe fired during %d requests", requests)
	}
	fmt.Fprintf(stdout, "... and %d more\n", n-min(n, events))
	return l, nil
}

// measure makes the service measure its own probe n times.
func measure(ctx context.Context, hello demo.Hello, n int) (demo.Cost, error) {
	var cost demo.Cost
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/cost?n=%d", hello.URL, n), nil)
	if err != nil {
		return cost, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return cost, err
	}
	defer resp.Body.Close()
	return cost, json.NewDecoder(resp.Body).Decode(&cost)
}

// nanos returns a cost as text. The time of the loop around the probe is taken
// off, so that an unwatched probe may cost nothing measurable.
func nanos(c demo.Cost) string {
	switch {
	case c.Nanos < 0.1:
		return "less than 0.1 ns"
	case c.Nanos < 10:
		return fmt.Sprintf("%.1f ns", c.Nanos)
	}
	return fmt.Sprintf("%.0f ns", c.Nanos)
}

// ErrReported is the error of a tour that has reported the reason on stderr.
var ErrReported = errors.New("failed")

// without reports which privileges this process lacks and what helps, and
// shows what can be seen without them.
func without(p *attach.PrivilegeError, hello demo.Hello, command string, stdout, stderr io.Writer) error {
	missing := strings.Join(p.Missing, " and ")
	if missing == "" {
		missing = "a permission"
	}
	fmt.Fprintf(stdout, "Attaching takes %s, which this process lacks. This can be seen without it, by sdtdump -p %d --probe '%s':\n\n", missing, hello.PID, probes)
	sdtdump.Run([]string{"-p", fmt.Sprint(hello.PID), "--probe", probes}, stdout, stderr)
	fmt.Fprintln(stderr)
	fmt.Fprintf(stderr, "sdttrace: %v; run: %s\n", p, command)
	return ErrReported
}
