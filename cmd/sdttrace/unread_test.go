package main

import (
	"os"
	"testing"
)

// TestUnreadPipe interrupts sdttrace while it writes to a pipe that nobody reads: it ends, and says
// that the output is not whole.
func TestUnreadPipe(t *testing.T) {
	cmd, _, _, stderr := startUnread(t, "unread")
	stderr.AwaitTrying(t, " events lost until now", func() { skipRefused(t, stderr) }) // since nobody reads
	cmd.Process.Signal(os.Interrupt)
	stderr.Await(t, "sdttrace: write output: nobody reads the pipe, so that the rest is left out\n")
	stderr.Await(t, "; attached ")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("it ends with %v", err)
	}
}
