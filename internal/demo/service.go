package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// Hello is what a started service reports about itself.
type Hello struct {
	PID int
	URL string // without a path
}

// Serve runs the service on a loopback address until in ends, and writes its Hello,
// as a line of JSON, to out. The service runs without its probes if they cannot be
// loaded, and writes the reason to talk.
func Serve(in io.Reader, out, talk io.Writer) error {
	s, m := newShop(), newMeter()
	for _, p := range []interface {
		Load() error
		Close() error
	}{s.probes, m.probes} {
		if err := p.Load(); err != nil {
			fmt.Fprintf(talk, "demo service: %v; it goes on without probes\n", err)
		}
		defer p.Close()
	}
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.Handle("/cost", m)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(Hello{PID: os.Getpid(), URL: "http://" + l.Addr().String()}); err != nil {
		return err
	}
	return serve(l, mux, in)
}

// serve serves until in ends, so that the service ends with the process at the other
// end.
func serve(l net.Listener, h http.Handler, in io.Reader) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	stopped := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, in)
		// No client waits for an answer any more. Shutdown would wait for connections
		// that clients have opened and not used.
		stopped <- errors.Join(err, server.Close())
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
