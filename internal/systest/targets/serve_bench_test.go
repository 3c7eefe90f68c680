package targets_test

import (
	"bytes"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// served is what sdttrace serve says in the end.
var served = regexp.MustCompile(`fired (\d+)(?s:.*); (\d+) events, (\d+) lost, `)

// BenchmarkServe serves a page of 75,000 events a second, and of the times of their statements, for
// ten seconds.
func BenchmarkServe(b *testing.B) {
	needs.Root(b)
	sdttrace, program := needs.Build(b, "cmd/sdttrace"), needs.Compile(b, "testdata/statements.c", "gcc", "-O1")
	for b.Loop() {
		var said bytes.Buffer
		cmd := exec.Command(sdttrace, "serve", "--span", "postgresql:query__start,postgresql:query__done", "postgresql:*", "--", program, "75000", "10")
		cmd.Stdout, cmd.Stderr = &said, &said
		err := cmd.Run()
		m := served.FindSubmatch(said.Bytes())
		if err != nil || m == nil || !bytes.Equal(m[1], m[2]) {
			b.Fatalf("%v: %s", err, &said)
		}
		events, _ := strconv.ParseFloat(string(m[2]), 64)
		lost, _ := strconv.ParseFloat(string(m[3]), 64)
		b.ReportMetric(events/10, "events/s")
		b.ReportMetric(lost, "lost")
		// The program's time is in it, mostly that of traps into the kernel.
		b.ReportMetric(float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())/events, "cpu-ns/event")
	}
}
