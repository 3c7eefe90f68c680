// Blackbox prints the last events that a process kept before it ended, of the files that flight
// recorders leave behind (USDT_RECORDER=DIR).
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/go-usdt/usdt/attach"
)

func main() {
	if err := run(context.Background(), os.Stdout, 20, os.Args[1:]...); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, last int, files ...string) error {
	s, err := attach.Open(ctx, []string{"*:*"}, &attach.Options{Target: attach.Target{Recordings: files}})
	if err != nil {
		return err
	}
	defer s.Close()
	var lines []string
	for ev, err := range s.Events() { // of all files, by time
		if err != nil {
			return err
		}
		line, err := ev.MarshalJSON()
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
		lines = lines[max(0, len(lines)-last):]
	}
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	return nil
}
