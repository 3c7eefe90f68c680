// Command sdtdump shows the USDT probes of ELF files and of live processes.
//
// See sdtdump --help.
package main

import (
	"os"

	_ "github.com/go-usdt/usdt/internal/limits" // first of all
	"github.com/go-usdt/usdt/internal/sdtdump"
)

func main() { os.Exit(sdtdump.Run(os.Args[1:], os.Stdout, os.Stderr)) }
