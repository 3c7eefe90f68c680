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
	// and the summary is printed.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
