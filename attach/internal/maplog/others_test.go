package maplog

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// BenchmarkOthers measures what a log of this process costs this process while others start, in CPU
// time for each of them.
func BenchmarkOthers(b *testing.B) {
	const started = 500
	l, err := Open([]int{os.Getpid()}, nil)
	if err != nil {
		needs.Skip(b, "needs CAP_PERFMON: %v", err)
	}
	defer l.Close()
	l.Follow(func(int) {})
	for b.Loop() {
		before := cpuTime(b)
		cmd := exec.Command("bash", "-c", "for ((i = 0; i < 500; i++)); do /bin/true; done")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(cpuTime(b)-before)/started/1e3, "µs/start")
	}
}

// cpuTime returns what this process has used, in nanoseconds.
func cpuTime(b *testing.B) int64 {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
