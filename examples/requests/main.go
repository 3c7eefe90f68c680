// Requests prints each request of the two services of examples/shop with the time that it took, and
// the part of it that the second service took.
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
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	key := []string{"request"} // what both services know of it
	s, err := attach.OpenSpans(ctx, nil, &attach.SpanOptions{Spans: []attach.Span{
		{Start: "front:request_start", End: "front:request_done", Key: key},
		{Start: "stock:lookup_start", End: "stock:lookup_done", Key: key},
	}}, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(out, "Tracing requests. Ctrl-C ends.")
	lookups := map[string]time.Duration{}
	for sp, err := range s.All() {
		if err != nil {
			return err
		}
		for _, pair := range sp.Pairs {
			switch id := pair.Start.Args[0].Text(); pair.Span {
			case 0:
				fmt.Fprintln(out, id, pair.Start.Args[1].Text(), pair.Took, "stock", lookups[id])
				delete(lookups, id)
			case 1:
				lookups[id] = pair.Took
			}
		}
	}
	return nil
}
