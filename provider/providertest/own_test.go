package providertest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// library is a library that declares in its constructor and works in goroutines.
type library struct{ done *provider.Probe2[string, int] }

func newLibrary() library {
	return library{provider.NewProbe2[string, int](provider.New("rectestown", nil), "done", "path", "step")}
}

func (l library) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	l.done.Fire(r.URL.Path, 1)
	behind := make(chan bool)
	go func() {
		l.done.Fire(r.URL.Path, 2)
		close(behind)
	}()
	<-behind
}

// get asks a server for a path.
func get(t *testing.T, url, path string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(url + path)
	if err != nil {
		t.Error(err)
		return
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// own checks that the test's own events are those of its paths.
func own(t *testing.T, rec *providertest.Recorder, paths ...string) {
	t.Helper()
	var want []string
	for _, path := range paths {
		for step := 1; step <= 2; step++ {
			want = append(want, fmt.Sprintf("rectestown:done %q %d", path, step))
		}
	}
	check(t, rec.Own("done"), want...)
}

// TestOwnServers checks that parallel tests with servers of their own tell their events
// apart, and by contexts also those of a server that they share.
func TestOwnServers(t *testing.T) {
	contexts := map[string]context.Context{} // as requests would have them
	shared := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pprof.Do(contexts[r.URL.Path], pprof.Labels("path", r.URL.Path), func(context.Context) { newLibrary().ServeHTTP(w, r) })
	}))
	t.Cleanup(shared.Close)
	const tests = 6
	for i := range tests {
		path := fmt.Sprint("/shared/", i)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rec := providertest.Record(t, provider.New("rectestown", nil))
			contexts[path] = rec.Context(t.Context())
			t.Parallel()
			server := httptest.NewServer(newLibrary())
			defer server.Close()
			first, second := fmt.Sprint("/first/", i), fmt.Sprint("/second/", i)
			get(t, server.URL, first)
			get(t, shared.URL, path)
			get(t, server.URL, second)
			own(t, rec, first, path, second)
		})
	}
}

// TestOwnBubble checks that the events of a bubble are its own, whichever of its goroutines
// fires, also if Record was called outside.
func TestOwnBubble(t *testing.T) {
	rec := providertest.Record(t, provider.New("rectestown", nil))
	workers := make(chan bool)
	go func() {
		newLibrary().ServeHTTP(nil, httptest.NewRequest("GET", "/outside", nil))
		close(workers)
	}()
	<-workers
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(time.Hour, func() {
			newLibrary().ServeHTTP(nil, httptest.NewRequest("GET", "/inside", nil))
		})
		time.Sleep(2 * time.Hour)
		own(t, rec, "/inside")
	})
}

// TestLabels checks that a recorder leaves the labels of its goroutine as they were, and
// that two recorders do not disturb each other.
func TestLabels(t *testing.T) {
	p := provider.New("rectestown", nil)
	pprof.Do(t.Context(), pprof.Labels("kept", "yes"), func(ctx context.Context) {
		t, end := exampleTest()
		first, second := providertest.Record(t, p), providertest.Record(t, p)
		done := make(chan bool)
		go func() {
			newLibrary().ServeHTTP(nil, httptest.NewRequest("GET", "/", nil))
			if got := providertest.GoroutineLabel("kept"); got != "yes" {
				t.Errorf("the label is %q", got)
			}
			close(done)
		}()
		<-done
		if len(first.Own("done")) != 2 || len(second.Own("done")) != 2 {
			t.Errorf("%d and %d own events, want 2", len(first.Own("done")), len(second.Own("done")))
		}
		end()
	})
	if got := providertest.GoroutineLabel("usdt-recorders"); got != "" {
		t.Errorf("the label %q is left", got)
	}
}
