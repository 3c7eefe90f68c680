package leftover

import (
	"fmt"
	"os"
	"testing"
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
