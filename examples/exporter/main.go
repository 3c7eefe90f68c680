// Exporter serves the time that requests of examples/shop took, as Prometheus reads histograms.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
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

var bounds = []float64{1e6, 1e7, 1e8, 1e9} // nanoseconds

func run(ctx context.Context, out io.Writer) error {
	a, err := attach.OpenAggregate(ctx, []string{"front:request_done"}, attach.Hist("took").Bounds(bounds...).And(attach.Sum("took")).By("status"), &attach.Options{Rescan: time.Second, Await: true})
	if err != nil {
		return err
	}
	defer a.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w, a) }))
	fmt.Fprintf(out, "http://%s/metrics\n", l.Addr())
	<-ctx.Done()
	return l.Close()
}

func write(w http.ResponseWriter, a *attach.Aggregate) {
	groups, err := a.Total()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
	for _, g := range groups {
		status, below := g.By[0].Text(), uint64(0) // how many took no longer
		for _, le := range bounds {
			for len(g.Hist) > 0 && g.Hist[0].Hi <= le {
				below, g.Hist = below+g.Hist[0].N, g.Hist[1:]
			}
			fmt.Fprintf(w, "request_seconds_bucket{status=%q,le=\"%g\"} %d\n", status, le/1e9, below)
		}
		fmt.Fprintf(w, "request_seconds_bucket{status=%q,le=\"+Inf\"} %d\n", status, g.Count)
		fmt.Fprintf(w, "request_seconds_count{status=%q} %d\nrequest_seconds_sum{status=%q} %g\n", status, g.Count, status, g.Sum.(time.Duration).Seconds())
	}
}
