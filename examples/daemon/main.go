// Daemon counts the events of a machine's processes by their names, however shortly they live: each
// second it prints what is new.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/go-usdt/usdt/attach"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]...); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, probes ...string) error {
	// Files and processes are found as they appear, by the kernel's reports and by rescans.
	a, err := attach.OpenAggregate(ctx, probes, attach.Count().By("comm", "probe"), &attach.Options{Rescan: time.Second, Await: true})
	if err != nil {
		return err
	}
	defer a.Close()
	fmt.Fprintln(out, "Counting. Ctrl-C ends.")
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
		case <-a.Done():
			running = false
		}
		groups, err := a.Read()
		if err != nil {
			return err
		}
		for _, g := range groups {
			fmt.Fprintln(out, g.Count, g.By[0].Text(), g.By[1].Text())
		}
	}
	st, err := a.Stats()
	fmt.Fprintf(out, "lost %d, late sites %d\n", st.Lost+st.Missed, st.Late)
	return err
}
