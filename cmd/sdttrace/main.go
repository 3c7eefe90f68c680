// Command sdttrace attaches to USDT probes and prints what fires.
//
//	sdttrace -p PID 'myapp:request_*'
//
// See sdttrace --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A closed pipe is an error of the write, so that sites are left in order
	// and the summary is printed. The signal is taken and not ignored, since
	// programs that are started inherit what is ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(withInterrupts(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}
