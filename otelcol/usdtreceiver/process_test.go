package usdtreceiver_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// process is a command that serves until it is told to end: the built collector, or Prometheus.
type process struct {
	cmd   *exec.Cmd
	file  string
	ended chan struct{}
	err   error
}

// begins starts a command, whose output goes to a file. It is killed when the test ends.
func begins(t *testing.T, dir, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program, args...), file: filepath.Join(t.TempDir(), "said"), ended: make(chan struct{})}
	out, err := os.Create(p.file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, out, out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(program), p.said())
		}
	})
	return p
}

// said returns the output until now.
func (p *process) said() string {
	text, err := os.ReadFile(p.file)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// lives fails the test if the command has ended.
func (p *process) lives(t *testing.T) {
	t.Helper()
	select {
	case <-p.ended:
		t.Fatalf("%v ended: %v", p.cmd.Args, p.err)
	default:
	}
}

// signal sends a signal.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// peak returns the most memory, in bytes, that the process ever had.
func (p *process) peak(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no peak in %s", text)
	}
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// runCollector runs the built collector with a configuration. Its own telemetry is served at own.
func runCollector(t *testing.T, config string, args ...string) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return begins(t, "", collector(t), append(args, "--config", file)...)
}

// ownTelemetry is the part of a configuration that serves the collector's own telemetry.
func ownTelemetry(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	return fmt.Sprintf("{metrics: {readers: [{pull: {exporter: {prometheus: {host: %s, port: %s}}}}]}}", host, port)
}

// collector returns the collector that "make otelcol" has built.
func collector(t *testing.T) string {
	t.Helper()
	path := os.Getenv("OTELCOL")
	if path == "" {
		needs.Skip(t, "OTELCOL is not the path of a collector: make test-otelcol builds one")
	}
	return path
}

// get returns what an address answers, if it does.
func get(url string) (body string, ok bool) {
	res, err := http.Get(url)
	if err != nil {
		return "", false
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err == nil && res.StatusCode == http.StatusOK
}

// exposed returns the value of a metric in the text that an address serves to Prometheus, nothing if
// there is none. Label is a part of its labels, in their order.
func exposed(addr, metric, label string) string {
	body, _ := get("http://" + addr + "/metrics")
	m := regexp.MustCompile(`(?m)^` + metric + `\{[^}]*` + label + `[^}]*\} (\S+)$`).FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	return m[1]
}

// events returns a number of events from a collector's own telemetry, -1 if it does not say.
func events(own, outcome, trace string) int64 {
	n, err := strconv.ParseFloat(exposed(own, "otelcol_usdt_events", `outcome="`+outcome+`",[^}]*trace="`+trace+`"`), 64)
	if err != nil {
		return -1
	}
	return int64(n)
}

// free returns an address on which nobody listens. Its host is this process's own, so that nobody
// gets the port meanwhile.
func free(t *testing.T) string {
	t.Helper()
	pid := os.Getpid()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>16, pid>>8&0xff, pid&0xff))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
