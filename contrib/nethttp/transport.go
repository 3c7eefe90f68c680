package usdthttp

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/provider"
)

// RoundTripper returns a transport that makes requests by next, http.DefaultTransport if it
// is nil, and whose requests fire probes. Let the transport that begins the request's
// span have it as its next, so that the context has that span.
func RoundTripper(next http.RoundTripper, opts *Options) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &roundTripper{next, opts}
}

type roundTripper struct {
	next http.RoundTripper
	opts *Options
}

// CloseIdleConnections is what http.Client.CloseIdleConnections looks for.
func (t *roundTripper) CloseIdleConnections() {
	if next, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if !client.Enabled() {
		return t.next.RoundTrip(r)
	}
	return t.roundTrip(r)
}

// exchange is a request that began while somebody watched, until its answer's body ends.
type exchange struct {
	done  clientRequestDone
	begin time.Time
	bytes atomic.Int64
	ended atomic.Bool
}

func (t *roundTripper) roundTrip(r *http.Request) (*http.Response, error) {
	x := &exchange{begin: time.Now()}
	x.done.request = t.opts.request(r)
	clientStart.Fire(&x.done.request)
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			x.end(provider.As(v, panicked))
			panic(v)
		}
		x.end(provider.Text{}) // Goexit
	}()
	resp, err := t.next.RoundTrip(r)
	returned = true
	if err != nil || resp == nil {
		x.end(provider.Error(err))
		return resp, err
	}
	x.done.Status = resp.StatusCode
	clientResponse.Fire(&clientResponseReceived{x.done.request, resp.StatusCode, time.Since(x.begin)})
	switch below := resp.Body.(type) {
	case nil:
		x.end(provider.Text{})
	case io.ReadWriteCloser: // the connection, after 101 Switching Protocols
		resp.Body = newConnection(below, x)
	default:
		if below == http.NoBody {
			x.end(provider.Text{})
			break
		}
		resp.Body = &body{below, x}
	}
	return resp, nil
}

// end fires request_done the first time.
func (x *exchange) end(err provider.Text) {
	if x.ended.Swap(true) {
		return
	}
	done := x.done
	done.Bytes, done.Duration, done.Error = x.bytes.Load(), time.Since(x.begin), err
	clientDone.Fire(&done)
}

// body is that of an answer. One goroutine may close it while another reads.
type body struct {
	io.ReadCloser
	of *exchange
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.bytes.Add(int64(n))
	switch err {
	case nil:
	case io.EOF:
		b.of.end(provider.Text{})
	default:
		b.of.end(provider.Error(err))
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.of.end(provider.Error(err))
	return err
}

// connection is a body that can be written to as well.
type connection struct {
	body
	io.Writer
}

type closeWriter interface{ CloseWrite() error }

func newConnection(below io.ReadWriteCloser, x *exchange) io.ReadWriteCloser {
	c := &connection{body{below, x}, below}
	if w, ok := below.(closeWriter); ok {
		return struct {
			*connection
			closeWriter
		}{c, w}
	}
	return c
}
