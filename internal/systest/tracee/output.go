package tracee

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// Output collects what a program writes while the test reads it.
type Output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{} // closed by the next Write; nil if nobody waits
}

func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.wrote != nil {
		close(o.wrote)
		o.wrote = nil
	}
	return o.text.Write(b)
}

// String returns what was written until now.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// after returns what was written until now, and a channel that is closed when more is.
func (o *Output) after() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.wrote == nil {
		o.wrote = make(chan struct{})
	}
	return o.text.String(), o.wrote
}

// Await waits until the output contains text.
func (o *Output) Await(t testing.TB, text string) {
	t.Helper()
	o.AwaitTrying(t, text, nil)
}

// AwaitTrying waits until the output contains text, and calls again every few
// milliseconds until then, if it is not nil.
func (o *Output) AwaitTrying(t testing.TB, text string, again func()) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	var tick <-chan time.Time
	if again != nil {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		got, more := o.after()
		if strings.Contains(got, text) {
			return
		}
		select {
		case <-more:
		case <-tick:
			again()
		case <-deadline:
			t.Fatalf("got %q, want %q in it", got, text)
		}
	}
}
