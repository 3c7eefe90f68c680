package attach_test

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// BenchmarkRecord measures how many events this process writes to a file in a second of
// CPU time: by turns as they are, and as lines of JSON, as sdttrace --json does. One
// process fires three integers each.
func BenchmarkRecord(b *testing.B) {
	const events, rounds = 500_000, 3
	p := startChild(b, "fire")
	p.Do("load")
	spent, n := map[string]time.Duration{}, map[string]uint64{}
	for b.Loop() {
		for range rounds {
			for name, write := range map[string]func(testing.TB, *tracee.Program, *os.File, int) uint64{"record": toRecord, "json": toJSON} {
				file, err := os.Create(filepath.Join(b.TempDir(), name))
				if err != nil {
					b.Fatal(err)
				}
				before := cpuTime(b)
				n[name] += write(b, p, file, events)
				spent[name] += cpuTime(b) - before
				if err := file.Close(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	rate := func(name string) float64 { return float64(n[name]) / spent[name].Seconds() }
	for name := range n {
		b.ReportMetric(rate(name), name+"-events/cpu-s")
	}
	b.ReportMetric(rate("record")/rate("json"), "record/json")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRecordStacks measures, by turns, how many events this process writes to a file in a
// second of CPU time, and how large they are there: without stacks, and with the stacks that
// frame pointers lead to.
func BenchmarkRecordStacks(b *testing.B) {
	const events, rounds = 200_000, 3
	p := startChild(b, "fire")
	p.Do("load")
	names := []string{"bare", "stacks"}
	spent, size, n := make([]time.Duration, 2), make([]int64, 2), make([]uint64, 2)
	for b.Loop() {
		for range rounds {
			for i, most := range []int{0, attach.MaxStack} {
				file, err := os.Create(filepath.Join(b.TempDir(), names[i]))
				if err != nil {
					b.Fatal(err)
				}
				before := cpuTime(b)
				n[i] += recordTo(b, p, file, events, most)
				spent[i] += cpuTime(b) - before
				if info, err := file.Stat(); err == nil {
					size[i] += info.Size()
				}
				if err := file.Close(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	rate := func(i int) float64 { return float64(n[i]) / spent[i].Seconds() }
	for i, name := range names {
		b.ReportMetric(rate(i), name+"-events/cpu-s")
		b.ReportMetric(float64(size[i])/float64(n[i]), name+"-B/event")
	}
	b.ReportMetric(rate(1)/rate(0), "stacks/bare")
	b.ReportMetric(0, "ns/op")
}

// toRecord writes events as they are, and returns their number.
func toRecord(t testing.TB, p *tracee.Program, file *os.File, events int) uint64 {
	return recordTo(t, p, file, events, 0)
}

// recordTo does so with stacks of at most so many addresses.
func recordTo(t testing.TB, p *tracee.Program, file *os.File, events, most int) uint64 {
	r, err := attach.Record(t.Context(), []string{"bench:three"}, &attach.RecordOptions{RingSize: 64 << 20}, &attach.Options{Stack: most, Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer r.Close()
	ended := make(chan error, 1)
	go func() { ended <- r.Write(file, nil) }()
	p.Do("%d", events)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return checkSum(t, r).Received
}

// toJSON writes events as lines of JSON, and returns their number.
func toJSON(t testing.TB, p *tracee.Program, file *os.File, events int) uint64 {
	s := openEvents(t, "bench:three", &attach.EventOptions{RingSize: 16 << 20}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	defer s.Close()
	ended := make(chan error, 1)
	go func() {
		out := bufio.NewWriterSize(file, 64<<10)
		var line []byte
		for ev, err := range s.Events() {
			if err != nil {
				ended <- err
				return
			}
			line = append(ev.AppendJSON(line[:0]), '\n')
			out.Write(line)
		}
		ended <- out.Flush()
	}()
	p.Do("%d", events)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return checkSum(t, s).Received
}
