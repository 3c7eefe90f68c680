// Upstream loads an object by cilium/ebpf alone, and prints how many programs it has.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/cilium/ebpf"
)

func main() {
	c, err := ebpf.LoadCollection(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Println(len(c.Programs))
}
