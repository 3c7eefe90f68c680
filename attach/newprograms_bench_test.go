package attach_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// BenchmarkNewPrograms measures what sessions that wait cost this process while programs start that never ran
// before, in processor time for each of them. No program has what is waited for.
func BenchmarkNewPrograms(b *testing.B) {
	needs.Root(b)
	const programs = 200
	exe, err := os.ReadFile("/bin/true")
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	for name, target := range map[string]attach.Target{"all": {}, "comm": {Comm: "nobody"}} {
		for _, sessions := range []int{1, 20} {
			b.Run(fmt.Sprintf("%s/%d", name, sessions), func(b *testing.B) {
				for i := range sessions {
					a, err := attach.OpenAggregate(b.Context(), []string{fmt.Sprintf("nobodys%d:probe", i)}, attach.Count(), &attach.Options{Target: target, Rescan: 30 * time.Second, Await: true})
					if err != nil {
						b.Fatal(err)
					}
					defer a.Close()
				}
				for b.Loop() {
					b.StopTimer()
					files, err := os.MkdirTemp(dir, "")
					if err != nil {
						b.Fatal(err)
					}
					for i := range programs {
						if err := os.WriteFile(filepath.Join(files, fmt.Sprint(i)), exe, 0o700); err != nil {
							b.Fatal(err)
						}
					}
					b.StartTimer()
					before := usedHere(b)
					if out, err := exec.Command("sh", "-c", "for i in "+files+"/*; do $i; done; sleep 0.1").CombinedOutput(); err != nil {
						b.Fatalf("%v: %s", err, out)
					}
					b.ReportMetric(float64((usedHere(b)-before).Microseconds())/programs, "µs/program")
				}
			})
		}
	}
}

// usedHere returns the processor time of this process.
func usedHere(tb testing.TB) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(ts.Nano())
}
