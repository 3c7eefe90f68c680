//go:build linux && (amd64 || arm64)

// Till is a tool in C and Go: a BPF program reads the arguments of till:order, in every
// process that has it, and adds them up. usdt2go makes typed Go of till.bpf.c.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/go-usdt/usdt/attach/collection"
)

//go:generate go tool usdt2go -target amd64,arm64 -type turnover till till.bpf.c -- -I/usr/include/x86_64-linux-gnu

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run counts until ctx is done, also in processes that start meanwhile.
func run(ctx context.Context, out io.Writer) error {
	spec, err := loadTill()
	if err != nil {
		return err
	}
	c, err := collection.New(ctx, spec, &collection.Options{Rescan: time.Second, Await: true})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Attach(ctx); err != nil {
		return err
	}
	var objects tillObjects
	if err := c.Assign(&objects); err != nil {
		return err
	}
	defer objects.Close()
	fmt.Fprintln(out, "Adding up orders. Ctrl-C ends.")
	<-ctx.Done()

	var items uint64
	var t tillTurnover
	all := objects.Turnovers.Iterate()
	for all.Next(&items, &t) {
		fmt.Fprintf(out, "orders of %d items: %d, %.2f in all\n", items, t.Orders, float64(t.Cents)/100)
	}
	return all.Err()
}
