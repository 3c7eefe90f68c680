package attach

import (
	"testing"
	"time"
)

// TestCloseTwice holds that whoever closes later waits for the first one, who
// may be the end of a context.
func TestCloseTwice(t *testing.T) {
	a := unattached(nil)
	started := make(chan bool)
	released := false
	a.whenReleased(func() {
		close(started)
		time.Sleep(20 * time.Millisecond) // the other one is in Close by then
		released = true
	})
	go a.Close()
	<-started
	if a.Close(); !released {
		t.Error("Close has returned before all was released")
	}
}
