// Stock is the service that knows how many of an item a shop has. The service front
// calls it. See docs/two-services.md.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"path"
	"time"

	"github.com/go-usdt/usdt/provider"
)

var (
	stock = provider.New("stock", nil)
	begin = provider.NewProbe2[string, string](stock, "lookup_start", "request", "item")
	done  = provider.NewProbe3[string, string, int](stock, "lookup_done", "request", "item", "left")

	left = map[string]int{"clock": 3, "lamp": 12, "table": 0}
)

// lookup returns how many of an item are left. The shelf of clocks is far away.
func lookup(item string) (int, bool) {
	if item == "clock" {
		time.Sleep(20 * time.Millisecond)
	}
	n, ok := left[item]
	return n, ok
}

func handle(w http.ResponseWriter, r *http.Request) {
	id, item := r.Header.Get("X-Request-Id"), path.Base(r.URL.Path)
	begin.Fire(id, item)
	n, ok := lookup(item)
	done.Fire(id, item, n)
	if !ok {
		http.NotFound(w, r)
		return
	}
	fmt.Fprintf(w, "%d left\n", n)
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: stock ADDRESS")
	}
	if err := stock.Load(); err != nil {
		log.Print(err) // the service runs on; its probes do nothing
	}
	defer stock.Close()
	log.Fatal(http.ListenAndServe(os.Args[1], http.HandlerFunc(handle)))
}
