// The program calls functions of Go for each line that it reads, and answers with what became of
// the calls.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/go-usdt/usdt/internal/systest/returning"
)

func main() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(returning.String(returning.Run()))
	}
}
