package remark

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

// Sought reports, unless the returned function is called before, which selectors name nothing in a command
// that has run for some time: it may load its probes later, and may run for long.
func Sought(s session.Session, after time.Duration, stderr io.Writer) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ended:
		case <-time.After(after):
			if st, err := s.Stats(); err == nil && st.Found == 0 {
				NoMatch(stderr, s, "; the command goes on, Ctrl-C ends it")
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// Stopped reports which of the processes are stopped: their probes do not fire until somebody lets them
// go on.
func Stopped(stderr io.Writer, pids []int) {
	for _, pid := range pids {
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil && bytes.Contains(status, []byte("\nState:\tT")) {
			fmt.Fprintf(stderr, "sdttrace: process %d is stopped, and none of its probes fires until kill -CONT %[1]d\n", pid)
		}
	}
}
