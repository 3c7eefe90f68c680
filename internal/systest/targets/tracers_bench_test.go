package targets_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/debian"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/internal/systest/turns"
)

// tracer is a program that traces: sdttrace, or a version of bpftrace.
type tracer struct {
	name    string
	command []string
}

// tracersOf returns sdttrace, the bpftrace that is installed, and the newest of Debian,
// which is kept in the user's cache. A bpftrace that is not to be had is left out.
func tracersOf(b *testing.B) []tracer {
	b.Helper()
	all := []tracer{{"sdttrace", []string{filepath.Join(buildTracer(b), "sdttrace")}}}
	add := func(command []string) {
		out, err := exec.Command(command[0], append(command[1:len(command):len(command)], "--version")...).Output()
		if err != nil {
			b.Logf("without %v: %v", command, err)
			return
		}
		all = append(all, tracer{strings.TrimSpace(string(out)), command})
	}
	needs.Tools(b, "bpftrace")
	needs.Tracefs(b) // newer versions of it do not begin without
	add([]string{"bpftrace"})
	cache, err := os.UserCacheDir()
	if err != nil {
		b.Fatal(err)
	}
	root, err := debian.Install(filepath.Join(cache, "usdt-bpftrace"), "sid", runtime.GOARCH, "bpftrace")
	if err != nil {
		b.Logf("without Debian's newest bpftrace: %v", err)
		return all
	}
	command, err := root.Command("usr/bin/bpftrace")
	if err != nil {
		b.Fatal(err)
	}
	add(command)
	return all
}

// question is what tracers are asked for.
type question struct {
	name     string
	probe    string
	sdttrace []string
	bpftrace string
	// burst is how many events follow each other before there is a pause, 0 for no pause.
	burst  int
	prints bool // each event
}

// All tracers lose some events without a pause, and lost events cost less.
const burst = 500

var questions = []question{
	{"count", "text", []string{"count"}, `{ @ = count(); }`, 0, false},
	{"hist", "text", []string{"hist", "number"}, `{ @ = hist(arg0); }`, 0, false},
	{"count by text", "text", []string{"count", "--by", "text"}, `{ @[str(arg1)] = count(); }`, 0, false},
	{"count, condition false", "text", []string{"count", "--where", "number == 5000"}, `/arg0 == 5000/ { @ = count(); }`, 0, false},
	{"print, condition false", "text", []string{"--where", "number == 5000"}, `/arg0 == 5000/ { printf("number=%d\n", arg0); }`, 0, false},
	{"print a number", "number", []string{"--fields", "args"}, `{ printf("number=%d\n", arg0); }`, burst, true},
	{"print time, name, thread, number", "number", []string{"--fields", "time,comm,pid,tid,args"}, `{ printf("%lld %s/%d/%d number=%d\n", nsecs, comm, pid, tid, arg0); }`, burst, true},
	{"print number and text", "text", []string{"--fields", "args"}, `{ printf("number=%d text=%s\n", arg0, str(arg1)); }`, burst, true},
	{"the same without pauses", "text", []string{"--fields", "args"}, `{ printf("number=%d text=%s\n", arg0, str(arg1)); }`, 0, true},
}

// args returns the command's arguments for a process.
func (q *question) args(tr *tracer, pid int) []string {
	if tr.name == "sdttrace" {
		return append(append([]string{"-p", fmt.Sprint(pid)}, q.sdttrace...), "speed:"+q.probe)
	}
	return []string{"-p", fmt.Sprint(pid), "-e", "usdt:*:speed:" + q.probe + " " + q.bpftrace}
}

// measured is the result of a turn.
type measured struct {
	ns   float64 // CPU time of the program, for an event
	lost float64 // share of the events
}

// trace has a program's events traced, and returns what they cost it.
func trace(b *testing.B, p *tracee.Program, command []string, q *question) (m measured) {
	b.Helper()
	out, err := os.Create(filepath.Join(b.TempDir(), "out"))
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout = out
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	stop := sync.OnceValue(func() error { return interrupt(cmd) })
	defer stop()
	for deadline := time.Now().Add(30 * time.Second); p.Do("armed "+q.probe) != "1"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("%q does not attach: %v: %s", command, stop(), &said)
		}
	}
	n := 200_000
	if q.burst > 0 {
		n = 50_000
	}
	// bpftrace attaches its program some time after everything else: fire events of
	// another kind first.
	p.Do("%s 10000 500 -1", q.probe)
	if m.ns, err = strconv.ParseFloat(p.Do("%s %d %d", q.probe, n, q.burst), 64); err != nil {
		b.Fatal(err)
	}
	if err := stop(); err != nil {
		b.Fatalf("%q: %v: %s", command, err, &said)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		b.Fatal(err)
	}
	if q.prints {
		m.lost = 1 - float64(len(numbered.FindAllIndex(text, -1)))/float64(n)
	}
	return m
}

// interrupt ends a tracer, and returns how it has ended. On a busy machine bpftrace 0.17 now
// and then goes on after the first signal.
func interrupt(cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range 6 {
		cmd.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			return err
		case <-time.After(5 * time.Second):
		}
	}
	cmd.Process.Kill()
	return <-ended
}

// numbered begins the events that count.
var numbered = regexp.MustCompile(`\bnumber=\d`)

// BenchmarkTracers measures what an event costs the CPU of a Go program that is traced, by
// sdttrace and, in turns, by bpftrace, which are asked for the same.
func BenchmarkTracers(b *testing.B) {
	needs.Root(b)
	tracers := tracersOf(b)
	program := filepath.Join(b.TempDir(), "speed")
	needs.Run(b, "go", "build", "-o", program, "./testdata/speed")
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "USDT_BACKING=file", "USDT_DIR="+b.TempDir()) // bpftrace 0.27 finds none in memory
	p := tracee.Start(b, cmd).Ready()
	table := "|"
	for _, tr := range tracers {
		table += " | " + tr.name
	}
	table += " |\n|---" + strings.Repeat("|---", len(tracers)) + "|\n"
	for _, q := range questions {
		b.Run(q.name, func(b *testing.B) {
			for range b.N {
				table += compare(b, p, tracers, &q)
			}
			b.ReportMetric(0, "ns/op")
			b.StopTimer()
		})
	}
	b.Log("\n" + table)
}

// compare has the tracers asked one question by turns, and returns the row of a table: the
// medians, and how they compare.
func compare(b *testing.B, p *tracee.Program, tracers []tracer, q *question) string {
	b.Helper()
	const rounds = 31 // of 7, medians differ by 5 % from run to run
	lost := make([]float64, len(tracers))
	var measure []func() float64
	for i := range tracers {
		tr := &tracers[i]
		measure = append(measure, func() float64 {
			m := trace(b, p, slices.Concat(tr.command, q.args(tr, p.PID())), q)
			lost[i] += m.lost / rounds
			return m.ns
		})
	}
	row := "| " + q.name
	medians := turns.Medians(rounds, measure...)
	for i, ns := range medians {
		row += fmt.Sprintf(" | %.0f ns", ns)
		b.ReportMetric(ns, strings.ReplaceAll(tracers[i].name, " ", "-")+"-ns")
		if i > 0 {
			row += fmt.Sprintf(", × %.2f", medians[0]/ns)
		}
		if lost[i] >= 0.0005 {
			row += fmt.Sprintf(", %.1f %% lost", 100*lost[i])
			b.ReportMetric(100*lost[i], strings.ReplaceAll(tracers[i].name, " ", "-")+"-%lost")
		}
	}
	return row + " |\n"
}
