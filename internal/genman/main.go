// Command genman generates the manual pages of the commands that are packages from
// the commands themselves. It writes them into the directory that is its argument.
package main

import (
	"fmt"
	"os"

	"github.com/go-usdt/usdt/internal/manpage"
	"github.com/go-usdt/usdt/internal/sdtdump"
)

//go:generate go run . ../../man

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: genman DIR")
		os.Exit(2)
	}
	if err := manpage.Write(os.Args[1], sdtdump.Command()); err != nil {
		fmt.Fprintf(os.Stderr, "genman: %v\n", err)
		os.Exit(1)
	}
}
