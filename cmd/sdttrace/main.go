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

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	_ "github.com/go-usdt/usdt/internal/limits" // first of all
)

func main() {
	// With SIGPIPE handled, a closed pipe is an error of the write, so that sdttrace detaches and prints the
	// summary. The signal is not ignored, since child processes inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx := interrupt.With(context.Background())
	asked := interrupt.Of(ctx).Asked
	stdout, stderr := output.Ending(os.Stdout, asked), output.Ending(os.Stderr, asked)
	code := interrupt.Beside(func() int { return run(ctx, os.Args[1:], stdout, stderr) })
	interrupt.DieOf(syscall.Signal(code - exitSignal))
	os.Exit(code)
}
