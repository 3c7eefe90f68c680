package attach_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/total"
)

// TestReadClosed closes an aggregate while Read names its stacks: they have their names, and no file
// stays open.
func TestReadClosed(t *testing.T) {
	path := compileC(t, "stack", "gcc", "-static-pie", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
	p := start(t, exec.Command(path, "at once"))
	a, err := attach.OpenAggregateRecorded(t.Context(), []string{"stacked:hit"}, attach.Count().By("stack"), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer a.Close()
	p.Send("")
	if p.Rest(); p.End() != nil {
		t.Fatal("the program failed")
	}
	release := attach.HoldCode(a)
	read := make(chan []total.Group)
	go func() {
		groups, err := a.Read()
		if err != nil {
			t.Error(err)
		}
		read <- groups
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		st, err := a.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if st.Received == 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("nothing is read: %+v", st)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	release()
	if counts := byStack(t, <-read); counts["leaf middle main"] != 1 {
		t.Errorf("groups %v, want one of leaf middle main", counts)
	}
	if n := descriptorsOf(t, path); n > 0 {
		t.Errorf("%s is open %d times after Close", path, n)
	}
}

// descriptorsOf returns how many descriptors of this process are of a file.
func descriptorsOf(t *testing.T, path string) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && to == path {
			n++
		}
	}
	return n
}
