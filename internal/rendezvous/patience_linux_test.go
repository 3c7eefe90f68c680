package rendezvous

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestPatience checks that a process which would like to run is given longer to answer
// than one that sleeps.
func TestPatience(t *testing.T) {
	sleeping := exec.Command("sleep", "60")
	if err := sleeping.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		sleeping.Process.Kill()
		sleeping.Wait()
	}()
	for end := time.Now().Add(time.Minute); busy(sleeping.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("sleep does not sleep")
		}
	}
	const last = answerTime / 20
	for _, test := range []struct {
		what   string
		pid    int
		waited time.Duration
		want   []time.Duration
	}{
		{"a process that sleeps", sleeping.Process.Pid, answerTime, []time.Duration{last, 0}},
		{"one that runs", os.Getpid(), answerTime, []time.Duration{answerTime / 4, answerTime / 4}},
		{"one that runs, in the end", os.Getpid(), busyTime, []time.Duration{last, 0}},
		{"one that is gone", 1 << 30, answerTime, []time.Duration{last, 0}},
	} {
		p := &patience{pid: test.pid, began: time.Now().Add(-test.waited)}
		for i, want := range test.want {
			if got := p.more(); got != want {
				t.Errorf("%s: call %d gives %v, want %v", test.what, i, got, want)
			}
		}
	}
	p := newPatience(os.Getpid())
	if first := p.more(); first <= answerTime*9/10 || first > answerTime {
		t.Errorf("the first wait is %v, want about %v", first, answerTime)
	}
}
