// Middleware fires probes for every request that a net/http handler serves:
//
//	sdttrace hist took -p PID --where 'took > 1ms' web:request_done
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/provider"
)

var (
	web   = provider.New("web", nil)
	start = provider.NewProbe4[uint64, string, string, string](web, "request_start", "id", "method", "path", "remote")
	done  = provider.NewProbe5[uint64, string, int, int64, time.Duration](web, "request_done", "id", "path", "status", "bytes", "took")

	requests atomic.Uint64
)

// Traced returns a handler that calls next and fires a probe for each request.
// While nobody watches it adds a few nanoseconds.
func Traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !start.Enabled() && !done.Enabled() {
			next.ServeHTTP(w, r)
			return
		}
		id := requests.Add(1)
		start.Fire(id, r.Method, r.URL.Path, r.RemoteAddr)
		begin := time.Now()
		sw := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(sw, r) // if it panics, no status was sent, and done does not fire
		done.Fire(id, r.URL.Path, sw.status, sw.bytes, time.Since(begin))
	})
}

// statusWriter remembers the status of the answer.
type statusWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the writer below.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	if err := web.Load(); err != nil {
		log.Print(err) // the server works without its probes
	}
	defer web.Close()
	fmt.Println("pid", os.Getpid(), "url", "http://"+l.Addr().String())
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintln(w, "hello")
	})
	log.Print(http.Serve(l, Traced(hello)))
}
