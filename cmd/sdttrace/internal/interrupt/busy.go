package interrupt

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// busy returns the processor time that the threads of this process have had, and the time for which
// they have waited for a processor (/proc/PID/task/TID/schedstat). Neither grows while all of them wait
// for something that does not answer.
func busy() time.Duration {
	threads, _ := filepath.Glob("/proc/self/task/*/schedstat")
	sum := time.Duration(0)
	for _, path := range threads {
		data, _ := os.ReadFile(path) // a thread may have ended
		words := strings.Fields(string(data))
		for _, word := range words[:min(2, len(words))] {
			ns, _ := strconv.ParseInt(word, 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}
