package interop_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-usdt/usdt/provider"
)

var providers atomic.Int64

// declareMany declares and loads probes of three arguments.
func declareMany(names []string) (*provider.Provider, error) {
	// Use a new name, since New returns the same provider for the same name.
	p := provider.New(fmt.Sprintf("many%d", providers.Add(1)), nil)
	for _, name := range names {
		provider.NewProbe3[uint64, string, float64](p, name, "id", "path", "load")
	}
	return p, p.Load()
}

func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("probe_%06d", i)
	}
	return names
}

// BenchmarkLoad measures the time to declare and load probes of three arguments.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1001, 10_000, 100_000} {
		names := manyNames(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for range b.N {
				p, err := declareMany(names)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				p.Close()
				runtime.GC()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(n), "ns/probe")
		})
	}
}

// BenchmarkLoadMemory measures the memory of 100,000 loaded probes: what is
// retained after a collection, memfd included, and the peak of resident memory.
func BenchmarkLoadMemory(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), loadMemoryRole+"=1")
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		var retained, peak float64
		for line := range strings.Lines(string(out)) {
			fmt.Sscanf(line, "retained %f peak %f", &retained, &peak)
		}
		if retained == 0 {
			b.Fatalf("no numbers in %q", out)
		}
		b.ReportMetric(retained, "retained-MiB")
		b.ReportMetric(peak, "peak-MiB")
	}
	quiet(b)
}

// loadMemoryRole is the environment variable that makes this binary loadMemory.
const loadMemoryRole = "INTEROP_LOAD_MEMORY"

// loadMemory is the process that BenchmarkLoadMemory starts.
func loadMemory() error {
	before, err := status("VmRSS")
	if err != nil {
		return err
	}
	p, err := declareMany(manyNames(100_000))
	if err != nil {
		return err
	}
	debug.FreeOSMemory()
	retained, err := status("VmRSS")
	if err != nil {
		return err
	}
	peak, err := status("VmHWM")
	if err != nil {
		return err
	}
	var memfd int64
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if name, _ := os.Readlink(fd); strings.HasPrefix(name, "/memfd:usdt:") {
			if info, err := os.Stat(fd); err == nil {
				memfd += info.Size() >> 10
			}
		}
	}
	fmt.Printf("retained %.1f peak %.1f\n", float64(retained-before+memfd)/1024, float64(peak)/1024)
	runtime.KeepAlive(p)
	return nil
}

// status returns a number of /proc/self/status in KiB.
func status(key string) (int64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			return strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", key)
}
