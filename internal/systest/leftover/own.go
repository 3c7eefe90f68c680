package leftover

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// Descriptors returns how many descriptors this process has.
func Descriptors(t testing.TB) int {
	t.Helper()
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(dir)
}

// Back waits until this process has no more descriptors than there were before: what is closed in the
// background, or was opened by the runtime for a moment, goes by itself, and what leaks stays.
func Back(t testing.TB, before int) {
	t.Helper()
	now := Descriptors(t)
	for deadline := time.Now().Add(patience); now > before && time.Now().Before(deadline); now = Descriptors(t) {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if now > before {
		t.Errorf("%d descriptors are open, %d were: %v", now, before, held())
	}
}

// Resident returns how much memory this process has, in bytes.
func Resident(t testing.TB) int {
	t.Helper()
	var size, resident int
	b, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscan(string(b), &size, &resident)
	}
	if err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}
