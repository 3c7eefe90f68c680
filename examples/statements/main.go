// Statements prints how long the statements of PostgreSQL took, with one histogram for all that differ
// only in their literals.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/prototype"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, attach.Target{}); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, target attach.Target) error {
	l, err := attach.OpenLatency(ctx, "postgresql:query__start", "postgresql:query__done",
		&attach.LatencyOptions{By: []string{"sql(query)"}},
		&attach.Options{Target: target, Prototypes: prototype.Known()})
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Fprintln(out, "Adding up. Ctrl-C ends.")
	<-l.Done()
	groups, err := l.Read()
	if err != nil {
		return err
	}
	for _, g := range groups {
		fmt.Fprintf(out, "%d × %s\n", g.Count, g.By[0].Text())
		for _, b := range g.Hist {
			fmt.Fprintf(out, "  %.0f to %.0f ns: %d\n", b.Lo, b.Hi, b.N)
		}
	}
	return nil
}
