// Freeze stops the process whose event first fulfils a condition, at the probe, prints its stack and
// memory mappings while it stands still, and lets it go on.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-usdt/usdt/attach"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 3 {
		log.Fatal("usage: freeze PROBE CONDITION")
	}
	if err := run(ctx, os.Stdout, os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, probe, where string) error {
	s, err := attach.OpenEvents(ctx, []string{probe},
		&attach.EventOptions{Signal: attach.Signal{Number: syscall.SIGSTOP}}, // once
		&attach.Options{Where: where, Unwind: true, Stack: 16})
	if err != nil {
		return err
	}
	defer s.Close() // lets it go on
	fmt.Fprintln(out, "Waiting. Ctrl-C ends.")
	for ev, err := range s.Events() {
		if err != nil {
			return err
		}
		for _, f := range ev.Stack.Frames() {
			fmt.Fprintf(out, "%s %s:%d\n", f.Func, f.File, f.Line)
		}
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", ev.PID)) // or its memory, or gcore's dump
		fmt.Fprintf(out, "%s", maps)
		return err
	}
	return nil
}
