package usdthttp_test

import (
	"log"
	"net/http"

	"github.com/go-usdt/usdt/contrib/nethttp"
	"github.com/go-usdt/usdt/provider"
)

// The requests of a server fire probes. Main loads them, as all others.
func ExampleHandler() {
	if err := provider.LoadAll(nil); err != nil {
		log.Print(err) // the service works without its probes
	}
	defer provider.CloseAll()
	mux := http.NewServeMux()
	log.Print(http.ListenAndServe("localhost:8080", usdthttp.Handler(mux, nil)))
}

// The requests of a client fire probes.
func ExampleRoundTripper() {
	client := &http.Client{Transport: usdthttp.RoundTripper(http.DefaultTransport, nil)}
	client.Get("http://localhost:8080/")
}
