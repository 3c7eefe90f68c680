package targets_test

import (
	"bytes"
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
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// BenchmarkPostgres measures the CPU time that PostgreSQL takes for a transaction of pgbench
// with all of its probes traced, by sdttrace and bpftrace in turns, which are asked for the
// same, and with none; and what that cost is made of.
func BenchmarkPostgres(b *testing.B) {
	p := startPostgres(b)
	tracers := tracersOf(b)
	all := p.server + ":postgresql:*"
	probes := p.forms(b)
	for _, q := range []struct {
		name     string
		sdttrace []string
		bpftrace string
	}{
		{"count by probe", []string{"count", "--by", "probe", all}, "usdt:" + all + " { @[probe] = count(); }"},
		{"print numbers", []string{"--fields", "probe,args", "--providers", "none", all}, p.script(probes, false)},
		{"print numbers and texts", []string{"--fields", "probe,args", all}, p.script(probes, true)},
		{"print all that sdttrace prints", []string{all}, ""},
	} {
		b.Run(q.name, func(b *testing.B) {
			measure := []func() float64{func() float64 { return p.transactionCost(b) }}
			got := map[string]printed{}
			const rounds = 5
			for _, tr := range tracers {
				command := append(slices.Clone(tr.command), q.sdttrace...)
				if tr.name != "sdttrace" {
					script := q.bpftrace
					if script == "" {
						continue
					}
					if !strings.Contains(tr.name, "v0.17") { // it leaves out probes with symbols as arguments
						script = "config = { missing_probes = \"warn\" }\n" + script
					}
					command = append(slices.Clone(tr.command), "-e", script)
				}
				measure = append(measure, func() float64 {
					stop := p.traced(b, command)
					cost := p.transactionCost(b)
					now, sum := stop(), got[tr.name]
					got[tr.name] = printed{sum.lost + now.lost/rounds, sum.lines + now.lines/rounds}
					return cost
				})
			}
			for range b.N {
				clear(got)
				medians := turns.Medians(rounds, measure...)
				b.ReportMetric(medians[0]/1e3, "untraced-us/tx")
				for i, ns := range medians[1:] {
					name := strings.ReplaceAll(tracers[i].name, " ", "-")
					b.ReportMetric(100*(ns/medians[0]-1), name+"-+%")
					b.ReportMetric(100*got[tracers[i].name].lost, name+"-%lost")
					b.ReportMetric(got[tracers[i].name].lines/(clients*(transactions+warmUp)), name+"-lines/tx")
				}
			}
			b.ReportMetric(0, "ns/op")
			b.StopTimer()
		})
	}
	b.Run("shares", func(b *testing.B) { p.within(b).benchmarkShares(b) })
}

// probeForm is a probe, and which of its arguments are text.
type probeForm struct {
	name string
	text []bool
}

// forms returns the server's probes.
func (p *postgres) forms(b *testing.B) (all []probeForm) {
	b.Helper()
	f, err := reader.Open(p.server)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	seen := map[string]bool{}
	for probe, err := range f.Probes() {
		if err != nil {
			b.Fatal(err)
		}
		if probe.Provider != "postgresql" || seen[probe.Name] {
			continue
		}
		seen[probe.Name] = true
		args := probe.Arguments()
		form := probeForm{probe.Name, make([]bool, min(len(args), 6))} // bpftrace has no arg6 on x86-64
		if known := prototype.Known().Lookup(probe.Provider, probe.Name, args, notes.Class(probe.Class)); known != nil {
			for i := range form.text {
				form.text[i] = known.Params[i].Kind == prototype.Text
			}
		}
		all = append(all, form)
	}
	return all
}

// script returns a script of bpftrace that prints the name and all arguments of each probe,
// texts as such or as numbers.
func (p *postgres) script(probes []probeForm, texts bool) string {
	var script strings.Builder
	for _, probe := range probes {
		format, values := "", ""
		for i, text := range probe.text {
			if text && texts {
				format += fmt.Sprintf(" arg%d=%%s", i)
				values += fmt.Sprintf(", str(arg%d)", i)
				continue
			}
			format += fmt.Sprintf(" arg%d=%%d", i)
			values += fmt.Sprintf(", arg%d", i)
		}
		fmt.Fprintf(&script, "usdt:%s:postgresql:%s { printf(\"%%s%s\\n\", probe%s); }\n", p.server, probe.name, format, values)
	}
	return script.String()
}

// printed is what a tracer has printed of the server.
type printed struct {
	lost  float64 // the share of events that the tracer says it has lost
	lines float64
}

// traced has the server traced until stop is called.
func (p *postgres) traced(b *testing.B, command []string) (stop func() printed) {
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
	stop = sync.OnceValue(func() printed {
		defer out.Close()
		if err := interrupt(cmd); err != nil {
			b.Errorf("%q: %v: %s", command, err, &said)
		}
		text, err := os.ReadFile(out.Name())
		if err != nil {
			b.Fatal(err)
		}
		return printed{lostOf(string(text), said.String()), float64(bytes.Count(text, []byte("\n")))}
	})
	b.Cleanup(func() { stop() })
	probe := findProbe(b, p.pid, "postgresql", "transaction__start")
	p.eventually("traced", func() bool {
		n, err := probe.SemaphoreValue()
		if err != nil {
			b.Fatal(err)
		}
		return n > 0
	})
	// Attaches what is not attached yet.
	p.client("pgbench", "-n", "-c", fmt.Sprint(clients), "-t", fmt.Sprint(warmUp))
	return stop
}

// lostEvents is how sdttrace, and bpftrace in its output or on stderr, say what they lost.
var lostEvents = regexp.MustCompile(`(?i)([0-9]+) lost,|lost ([0-9]+) events`)

// lostOf returns the share of events that a tracer says it has lost, of those and the lines
// that it printed.
func lostOf(stdout, stderr string) float64 {
	lost := 0
	for _, m := range lostEvents.FindAllStringSubmatch(stdout+stderr, -1) {
		n, _ := strconv.Atoi(m[1] + m[2])
		lost += n
	}
	if lost == 0 {
		return 0
	}
	return float64(lost) / float64(lost+strings.Count(stdout, "\n"))
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

const (
	clients = 2 // of pgbench
	// Transactions of a client that are measured, and those before.
	transactions, warmUp = 1000, 50
)

// transactionCost returns the CPU time that the server's processes take for a transaction,
// in nanoseconds.
func (p *postgres) transactionCost(b *testing.B) float64 {
	b.Helper()
	before := p.ended(b)
	p.client("pgbench", "-n", "-c", fmt.Sprint(clients), "-t", fmt.Sprint(transactions))
	p.settled()
	return float64(p.ended(b)-before) / (clients * transactions)
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
