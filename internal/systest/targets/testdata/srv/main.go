// srv handles requests, for the commands of docs/tracing.md that trace lines and returns of Go functions.
package main

import "fmt"

func main() {
	handled := 0
	for n := range 8 {
		handled += handle(&request{path: fmt.Sprintf("/item/%d", n)}, n)
	}
	fmt.Println(handled, "bytes")
}
