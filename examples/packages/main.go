// Packages is a service of several packages, each of which declares its probes.
// Watch all of them with
//
//	sdttrace -p PID 'packages:*'
package main

import (
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/go-usdt/usdt/examples/packages/web"
	"github.com/go-usdt/usdt/provider"
)

func main() {
	// Once, for all packages; the options, if there were any, would be here.
	if err := provider.LoadAll(nil); err != nil {
		log.Print(err) // the service works without its probes
	}
	defer provider.CloseAll()

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	ticker := time.NewTicker(10 * time.Millisecond)
	fmt.Println("pid", os.Getpid())
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-ticker.C:
			web.Answer(fmt.Sprintf("/page/%d", n))
		}
	}
}
