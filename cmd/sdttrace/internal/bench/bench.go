// Package bench measures on the machine that it runs on what the kernel's probes and this
// module's cost a program, each beside what it is made of: a loop, and a system call.
package bench

import (
	"context"
	"errors"
	"iter"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach"
)

// Row is what was measured of one thing, by one number of threads.
type Row struct {
	Name    string `json:"name"`
	Group   Group  `json:"group"`
	Threads int    `json:"threads"`
	// Rate is how often it happened a second in all threads, and Stddev how much that varied
	// from one part of the time to the next.
	Rate   float64 `json:"per_second,omitempty"`
	Stddev float64 `json:"stddev,omitempty"`
	// Nanos is the time of one in a thread.
	Nanos float64 `json:"ns,omitempty"`
	// Syscalls is that time in system calls, by as many threads.
	Syscalls float64 `json:"syscalls,omitempty"`
	// Lost is the share of the events that the tracer did not get, of 1.
	Lost float64 `json:"lost,omitempty"`
	// Err says why there are no numbers.
	Err string `json:"error,omitempty"`
}

// Group is what rows are listed below.
type Group string

const (
	Program Group = "program" // what no probe has to do with
	Kernel  Group = "kernel"  // a program of BPF that does nothing, at a function's entry or return
	USDT    Group = "usdt"    // a probe that Go declares
)

// parts is into how many parts of equal length the time of a row is divided.
const parts = 5

// Threads returns the numbers of threads by which a machine is measured: powers of two below
// the number of its processors, and that.
func Threads() (all []int) {
	n := runtime.NumCPU()
	for i := 1; i < n; i *= 2 {
		all = append(all, i)
	}
	return append(all, n)
}

// Run measures for about as long as takes says, which is divided among the rows. It ends early
// when ctx is done. A row that cannot be measured holds the reason.
func Run(ctx context.Context, takes time.Duration) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		m, err := newMachine()
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer m.close()
		threads := Threads()
		// A tracer that reads events needs a processor of Go's beside the threads.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads[len(threads)-1] + 1))
		part := takes / time.Duration(len(things)*len(threads)*(parts+1))
		syscalls := map[int]float64{} // their time in ns, by threads
		for _, t := range things {
			for _, row := range t.measure(ctx, m, threads, part) {
				if ctx.Err() != nil {
					return
				}
				if t.name == syscallName {
					syscalls[row.Threads] = row.Nanos
				}
				if s := syscalls[row.Threads]; s > 0 {
					row.Syscalls = row.Nanos / s
				}
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// measure returns a row for each number of threads, or one with the reason why there are none.
func (t *thing) measure(ctx context.Context, m *machine, threads []int, part time.Duration) []Row {
	r, err := t.begin(ctx, m)
	if err != nil {
		return []Row{{Name: t.name, Group: t.group, Threads: threads[0], Err: reason(err)}}
	}
	var rows []Row
	for _, n := range threads {
		row := Row{Name: t.name, Group: t.group, Threads: n}
		row.Rate, row.Stddev = rate(ctx, &r, n, part)
		if row.Rate > 0 {
			row.Nanos = float64(n) * 1e9 / row.Rate
		}
		rows = append(rows, row)
	}
	lost := 0.0
	if r.end != nil {
		lost, err = r.end()
	}
	for i := range rows {
		rows[i].Lost = lost
		if err != nil {
			rows[i] = Row{Name: t.name, Group: t.group, Threads: rows[i].Threads, Err: reason(err)}
		}
	}
	return rows
}

// reason returns the innermost error, which says what is wrong with the site itself, or the
// privileges that are missing.
func reason(err error) string {
	if missing := (*attach.PrivilegeError)(nil); errors.As(err, &missing) && len(missing.Missing) > 0 {
		return "takes " + strings.Join(missing.Missing, " and ")
	}
	if errors.Is(err, os.ErrPermission) {
		return "not permitted: takes CAP_BPF and CAP_PERFMON"
	}
	for {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			all := e.Unwrap()
			err = all[len(all)-1]
		default:
			return err.Error()
		}
	}
}

// rate measures in threads, and returns the mean and the standard deviation of how often a
// second it went round, from parts of this length. One part more, in front, is not counted.
func rate(ctx context.Context, r *running, threads int, part time.Duration) (mean, stddev float64) {
	w := newWorkers(r, threads)
	defer w.stop()
	var rates []float64
	// On a loaded machine the threads may have no time in a part.
	for i := 0; i <= parts || len(rates) == 0 && i < 100*parts; i++ {
		select {
		case <-ctx.Done():
			return 0, 0
		case <-time.After(part):
		}
		if r := w.take(); i > 0 && r > 0 {
			rates = append(rates, r)
		}
	}
	for _, r := range rates {
		mean += r / float64(len(rates))
	}
	if len(rates) > 1 {
		for _, r := range rates {
			stddev += (r - mean) * (r - mean) / float64(len(rates)-1)
		}
	}
	return mean, math.Sqrt(stddev)
}
