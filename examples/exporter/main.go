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
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { serve(w, a) }))
	fmt.Fprintf(out, "http://%s/metrics\n", l.Addr())
	<-ctx.Done()
	return l.Close()
}

func serve(w http.ResponseWriter, a *attach.Aggregate) {
	groups, err := a.Total()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	write(w, groups)
}
