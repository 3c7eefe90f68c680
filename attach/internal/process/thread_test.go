package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestCheck checks which ids are those of processes.
func TestCheck(t *testing.T) {
	own := os.Getpid()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	threads := 0
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil || id == own {
			continue
		}
		threads++
		if err, want := Check(id), fmt.Sprintf("%d is a thread of process %d:", id, own); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("a thread: error %v, want %q", err, want)
		}
	}
	if threads == 0 {
		t.Error("this process has one thread only: the test has lost its point")
	}
	for id, ok := range map[int]bool{own: true, 1<<22 + 1: true, 0: false, -1: false} {
		if err := Check(id); (err == nil) != ok {
			t.Errorf("%d: error %v, want one: %t", id, err, !ok)
		}
	}
}
