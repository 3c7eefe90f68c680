// Front is the service that customers of a shop talk to. It asks the service stock how
// many of an item are left, and passes the request's id on, so that the probes of both
// have an argument in common:
//
//	sdttrace --where 'request == "r-7"' 'front:*' 'stock:*'
//
// See docs/two-services.md.
package main

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/provider"
)

var (
	front = provider.New("front", nil)
	start = provider.NewProbe2[string, string](front, "request_start", "request", "path")
	done  = provider.NewProbe3[string, int, time.Duration](front, "request_done", "request", "status", "took")

	requests atomic.Uint64
)

// requestID is the header that carries the id of a request from service to service.
const requestID = "X-Request-Id"

// handler answers requests with what the service at an address says.
func handler(stock string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := cmp.Or(r.Header.Get(requestID), fmt.Sprintf("r-%d", requests.Add(1)))
		begin := time.Now()
		start.Fire(id, r.URL.Path)
		status := http.StatusOK
		defer func() { done.Fire(id, status, time.Since(begin)) }()

		ask, err := http.NewRequestWithContext(r.Context(), http.MethodGet, stock+r.URL.Path, nil)
		if err != nil {
			status = http.StatusBadRequest
			http.Error(w, err.Error(), status)
			return
		}
		ask.Header.Set(requestID, id)
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			status = http.StatusBadGateway
			http.Error(w, err.Error(), status)
			return
		}
		defer answer.Body.Close()
		status = answer.StatusCode
		w.WriteHeader(status)
		io.Copy(w, answer.Body) // an error concerns the customer, who has left
	})
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: front ADDRESS URL-OF-STOCK")
	}
	if err := front.Load(); err != nil {
		log.Print(err) // the service runs on; its probes do nothing
	}
	defer front.Close()
	log.Fatal(http.ListenAndServe(os.Args[1], handler(os.Args[2])))
}
