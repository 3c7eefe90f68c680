// Command mirror prints the address of a mirror of Debian's archive, for scripts.
package main

import (
	"fmt"
	"os"

	"github.com/go-usdt/usdt/internal/systest/debian"
)

func main() {
	mirror, err := debian.Mirror()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mirror:", err)
		os.Exit(1)
	}
	fmt.Println(mirror)
}
