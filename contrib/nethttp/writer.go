package usdthttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// writer remembers what is written to an http.ResponseWriter.
type writer struct {
	http.ResponseWriter
	status   int // 0: none yet
	bytes    int64
	hijacked bool
}

// Unwrap lets http.ResponseController reach the writer below.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	// Informational ones may precede the status that counts.
	if final := status >= 200 || status == http.StatusSwitchingProtocols; final && w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// sent notes that net/http sends a status of its own if the handler has not.
func (w *writer) sent() {
	if w.status == 0 && !w.hijacked {
		w.status = http.StatusOK
	}
}

func (w *writer) Write(b []byte) (int, error) {
	w.sent()
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

func (w *writer) WriteString(s string) (int, error) {
	w.sent()
	n, err := io.WriteString(w.ResponseWriter, s)
	w.bytes += int64(n)
	return n, err
}

// ReadFrom lets the writer below send a file without copying it.
func (w *writer) ReadFrom(r io.Reader) (n int64, err error) {
	w.sent()
	if to, ok := w.ResponseWriter.(io.ReaderFrom); ok {
		n, err = to.ReadFrom(r)
	} else {
		n, err = io.Copy(struct{ io.Writer }{w.ResponseWriter}, r)
	}
	w.bytes += n
	return n, err
}

// The other interfaces that a ResponseWriter may implement say what it can do, so that a
// writer may have only the interfaces of the one below.

type flusher struct{ of *writer }

func (f flusher) Flush() { f.FlushError() }

func (f flusher) FlushError() error {
	f.of.sent()
	if below, ok := f.of.ResponseWriter.(interface{ FlushError() error }); ok {
		return below.FlushError()
	}
	f.of.ResponseWriter.(http.Flusher).Flush()
	return nil
}

type hijacker struct{ of *writer }

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := h.of.ResponseWriter.(http.Hijacker).Hijack()
	h.of.hijacked = h.of.hijacked || err == nil
	return c, rw, err
}

// like returns w with the interfaces that the writer below implements.
func (w *writer) like() http.ResponseWriter {
	f, h := flusher{w}, hijacker{w}
	p, pushes := w.ResponseWriter.(http.Pusher)
	c, notifies := w.ResponseWriter.(closeNotifier)
	_, flushes := w.ResponseWriter.(http.Flusher)
	_, hijacks := w.ResponseWriter.(http.Hijacker)
	switch [4]bool{flushes, hijacks, pushes, notifies} {
	case [4]bool{false, false, false, true}:
		return struct {
			*writer
			closeNotifier
		}{w, c}
	case [4]bool{false, false, true, false}:
		return struct {
			*writer
			http.Pusher
		}{w, p}
	case [4]bool{false, false, true, true}:
		return struct {
			*writer
			http.Pusher
			closeNotifier
		}{w, p, c}
	case [4]bool{false, true, false, false}:
		return struct {
			*writer
			hijacker
		}{w, h}
	case [4]bool{false, true, false, true}:
		return struct {
			*writer
			hijacker
			closeNotifier
		}{w, h, c}
	case [4]bool{false, true, true, false}:
		return struct {
			*writer
			hijacker
			http.Pusher
		}{w, h, p}
	case [4]bool{false, true, true, true}:
		return struct {
			*writer
			hijacker
			http.Pusher
			closeNotifier
		}{w, h, p, c}
	case [4]bool{true, false, false, false}:
		return struct {
			*writer
			flusher
		}{w, f}
	case [4]bool{true, false, false, true}:
		return struct {
			*writer
			flusher
			closeNotifier
		}{w, f, c}
	case [4]bool{true, false, true, false}:
		return struct {
			*writer
			flusher
			http.Pusher
		}{w, f, p}
	case [4]bool{true, false, true, true}:
		return struct {
			*writer
			flusher
			http.Pusher
			closeNotifier
		}{w, f, p, c}
	case [4]bool{true, true, false, false}:
		return struct {
			*writer
			flusher
			hijacker
		}{w, f, h}
	case [4]bool{true, true, false, true}:
		return struct {
			*writer
			flusher
			hijacker
			closeNotifier
		}{w, f, h, c}
	case [4]bool{true, true, true, false}:
		return struct {
			*writer
			flusher
			hijacker
			http.Pusher
		}{w, f, h, p}
	case [4]bool{true, true, true, true}:
		return struct {
			*writer
			flusher
			hijacker
			http.Pusher
			closeNotifier
		}{w, f, h, p, c}
	}
	return w
}

// closeNotifier is http.CloseNotifier, which is deprecated: handlers that still use it
// must find it.
type closeNotifier interface{ CloseNotify() <-chan bool }
