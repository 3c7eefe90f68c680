// Package turns measures things by turns, since machines are noisy.
package turns

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Medians calls all functions by turns, and returns the median of each one's results.
func Medians(rounds int, measure ...func() float64) []float64 {
	results := make([][]float64, len(measure))
	for range rounds {
		for i, m := range measure {
			results[i] = append(results[i], m())
		}
	}
	medians := make([]float64, len(measure))
	for i := range results {
		slices.Sort(results[i])
		medians[i] = results[i][rounds/2]
	}
	return medians
}

// PerCall returns the nanoseconds that loop(n) takes, divided by n.
func PerCall(n int, loop func(n int)) float64 {
	begin := time.Now()
	loop(n)
	return float64(time.Since(begin)) / float64(n)
}

// Spent returns the time that f takes, or the processor time that this process spends meanwhile if that
// is less: beside other work f waits for a processor.
func Spent(f func()) time.Duration {
	begin, used := time.Now(), processor()
	f()
	return min(time.Since(begin), processor()-used)
}

// processor returns the processor time that this process has spent.
func processor() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
