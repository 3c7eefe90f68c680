package attach_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/reader"
)

// A tool attaches a program of its own to each site that its session finds, with a cookie for it.
func ExampleSession_Sites() {
	target := attach.Target{PIDs: []int{os.Getpid()}}
	s, err := attach.Open(context.Background(), []string{"orders:*"}, &attach.Options{Target: target, Await: true, Rescan: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	orders := newOrders() // a service begins, or loads a library

	own := map[string]*attach.Attachment{}
	for site, left := range s.Sites(context.Background()) {
		name := fmt.Sprintf("%s:%x", site.Path, site.Offset)
		switch {
		case left:
			own[name].Close()
			delete(own, name)
		case site.Reason != nil:
			log.Print(site.Probe.Name, ": ", site.Reason)
		default:
			own[name], err = attach.AttachProbes(orders.program, []reader.Probe{site.Probe}, &attach.ProgramOptions{Target: target, Cookies: []uint64{uint64(len(own))}})
			if err != nil {
				log.Fatal(err)
			}
			orders.order.Fire()
			fmt.Println(site.Probe.Name, count(orders.counts))
			orders.provider.Close() // the service ends
		}
		if len(own) == 0 {
			s.Stop() // which ends the loop
		}
	}
	fmt.Println("left")
	// Output:
	// order 1
	// left
}
