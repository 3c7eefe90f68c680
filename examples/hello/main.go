// Hello declares one probe and fires it a hundred times a second until it is
// interrupted. Watch it with
//
//	sdttrace -p PID 'hello:*'
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/go-usdt/usdt/provider"
)

var (
	hello = provider.New("hello", nil)
	tick  = provider.NewProbe3[uint64, string, float64](hello, "tick", "seq", "msg", "load")
)

func main() {
	if err := hello.Load(); err != nil {
		log.Print(err) // the program works without its probes
	}
	defer hello.Close()

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	ticker := time.NewTicker(10 * time.Millisecond)
	fmt.Println("pid", os.Getpid())
	for seq := uint64(0); ; seq++ {
		select {
		case <-stop:
			return
		case <-ticker.C:
			tick.Fire(seq, fmt.Sprintf("tick %d", seq), rand.Float64())
		}
	}
}
