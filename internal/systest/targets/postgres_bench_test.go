package targets_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/turns"
	"github.com/go-usdt/usdt/reader"
)

// BenchmarkPostgres measures the CPU time that PostgreSQL takes for a transaction of pgbench
// with all of its probes traced, by sdttrace and bpftrace in turns, and with none; and
// what that cost is made of.
func BenchmarkPostgres(b *testing.B) {
	p := startPostgres(b)
	tracers := tracersOf(b)
	arguments := map[string]int{}
	f, err := reader.Open(p.server)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for probe, err := range f.Probes() {
		if err != nil {
			b.Fatal(err)
		}
		arguments[probe.Name] = min(len(probe.Arguments()), 6) // bpftrace has no arg6 on x86-64
	}
	var script strings.Builder
	for name, n := range arguments {
		format, values := "", ""
		for i := range n {
			format += fmt.Sprintf(" arg%d=%%d", i)
			values += fmt.Sprintf(", arg%d", i)
		}
		fmt.Fprintf(&script, "usdt:%s:postgresql:%s { printf(\"%%s%s\\n\", probe%s); }\n", p.server, name, format, values)
	}
	all := p.server + ":postgresql:*"
	for _, q := range []struct {
		name     string
		sdttrace []string
		bpftrace string
	}{
		{"count by probe", []string{"--count", "--by", "probe", all}, "usdt:" + all + " { @[probe] = count(); }"},
		{"print all arguments", []string{all}, script.String()},
	} {
		b.Run(q.name, func(b *testing.B) {
			var measure []func() float64
			measure = append(measure, func() float64 { return p.transactionCost(b) })
			for _, tr := range tracers {
				command := append(slices.Clone(tr.command), q.sdttrace...)
				if tr.name != "sdttrace" {
					script := q.bpftrace
					if !strings.Contains(tr.name, "v0.17") { // it leaves out probes with symbols as arguments
						script = "config = { missing_probes = \"warn\" }\n" + script
					}
					command = append(slices.Clone(tr.command), "-e", script)
				}
				measure = append(measure, func() float64 {
					stop := p.traced(b, command)
					cost := p.transactionCost(b)
					stop()
					return cost
				})
			}
			for range b.N {
				medians := turns.Medians(5, measure...)
				b.ReportMetric(medians[0]/1e3, "untraced-us/tx")
				for i, ns := range medians[1:] {
					b.ReportMetric(100*(ns/medians[0]-1), strings.ReplaceAll(tracers[i].name, " ", "-")+"-+%")
				}
			}
			b.ReportMetric(0, "ns/op")
			b.StopTimer()
		})
	}
	b.Run("shares", func(b *testing.B) { p.within(b).benchmarkShares(b) })
}

// traced has the server traced until stop is called.
func (p *postgres) traced(b *testing.B, command []string) (stop func()) {
	b.Helper()
	out, err := os.Create(filepath.Join(b.TempDir(), "out"))
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout = out
	cmd.Env = append(os.Environ(), "BPFTRACE_MAX_PROBES=1000")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := interrupt(cmd); err != nil {
			b.Errorf("%q: %v: %s", command, err, &said)
		}
		out.Close()
	})
	b.Cleanup(stop)
	probe := findProbe(b, p.pid, "postgresql", "transaction__start")
	p.eventually("traced", func() bool {
		n, err := probe.SemaphoreValue()
		if err != nil {
			b.Fatal(err)
		}
		return n > 0
	})
	p.client("pgbench", "-n", "-c", "2", "-t", "50") // attaches what is not attached yet
	return stop
}

// findProbe returns a probe of a process.
func findProbe(b *testing.B, pid int, provider, name string) *reader.Probe {
	b.Helper()
	proc, err := reader.OpenProcess(pid)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { proc.Close() })
	for probe, err := range proc.Probes() {
		if err == nil && probe.Provider == provider && probe.Name == name {
			return &probe
		}
	}
	b.Fatalf("process %d has no probe %s:%s", pid, provider, name)
	return nil
}

// transactionCost returns the CPU time that the server's processes take for a transaction,
// in nanoseconds.
func (p *postgres) transactionCost(b *testing.B) float64 {
	b.Helper()
	const clients, each = 2, 1000
	before := p.ended(b)
	p.client("pgbench", "-n", "-c", fmt.Sprint(clients), "-t", fmt.Sprint(each))
	p.settled()
	return float64(p.ended(b)-before) / (clients * each)
}

// afterName are the fields of /proc/PID/stat behind the name.
var afterName = regexp.MustCompile(`\) (.*)`)

// ended returns the CPU time of the server's processes that have ended.
func (p *postgres) ended(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(afterName.FindStringSubmatch(string(text))[1])
	var ticks int
	for _, i := range []int{13, 14} { // cutime and cstime, man 5 proc
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100
}
