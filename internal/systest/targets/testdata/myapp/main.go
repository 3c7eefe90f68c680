// Myapp has the probes that the documents' commands trace. It fires them for each
// line of its input, which it answers with a line: requests of two paths, with
// different status.
package main

import (
	"bufio"
	"fmt"
	"log"
	"net/netip"
	"os"
	"time"

	"github.com/go-usdt/usdt/provider"
)

type peer struct {
	Host string `usdt:"host"`
	Port uint16 `usdt:"port"`
}

type request struct {
	ID     uint64  `usdt:"id"`
	Path   string  `usdt:"path"`
	Status int     `usdt:"status"`
	Millis float64 `usdt:"ms"`
	Peer   *peer   `usdt:"peer"`
}

var (
	myapp = provider.New("myapp", nil)
	start = provider.NewProbe2[uint64, string](myapp, "request_start", "id", "path")
	done  = provider.NewStructProbe[request](myapp, "request_done")
	dial  = provider.NewProbe2[time.Duration, provider.IP](myapp, "dial_done", "took", "peer")
)

func main() {
	if err := myapp.Load(); err != nil {
		log.Fatal(err)
	}
	defer myapp.Close()
	fmt.Println("ready")
	id := uint64(0)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("done") {
		for _, r := range []request{
			{Path: "/index.html", Status: 200, Millis: 0.5, Peer: &peer{"::1", 80}},
			{Path: "/api/order", Status: 503, Millis: 3, Peer: &peer{"::1", 443}},
		} {
			id++
			r.ID = id
			start.Fire(r.ID, r.Path)
			done.Fire(&r)
		}
		dial.Fire(15*time.Millisecond, provider.Addr(netip.MustParseAddr("10.0.0.1")))
	}
}
