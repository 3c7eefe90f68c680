// Dlopened is examples/hello with the dynamic linker as loader.
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-usdt/usdt/provider"
)

func main() {
	p := provider.New("hello", &provider.Options{Loader: provider.LoaderDlopen})
	tick := provider.NewProbe3[uint64, string, float64](p, "tick", "seq", "msg", "load")
	if err := p.Load(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("pid", os.Getpid())
	for seq := uint64(0); ; seq++ {
		tick.Fire(seq, fmt.Sprintf("tick %d", seq), 0.5)
		time.Sleep(5 * time.Millisecond)
	}
}
