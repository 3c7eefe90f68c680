// Dbslower prints the statements of PostgreSQL that took long, with their text, and in the end a
// histogram of all. The kernel drops the others once it has added up their times.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/prototype"
)

func main() {
	slower := flag.Duration("slower", 10*time.Millisecond, "leave out what is not slower")
	exe := flag.String("exe", "", "trace the processes that run this file; all if it is empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *slower, attach.Target{Exe: *exe}); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, slower time.Duration, target attach.Target) error {
	p, err := attach.OpenPairs(ctx, "postgresql:query__start", "postgresql:query__done",
		&attach.PairOptions{Slower: slower, Times: true},
		&attach.Options{Target: target, Prototypes: prototype.Known()}) // which know that arg0 is text
	if err != nil {
		return err
	}
	defer p.Close()
	fmt.Fprintf(out, "Statements slower than %v. Ctrl-C ends.\n", slower)
	for pair, err := range p.All() {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%v %d %s\n", pair.Took, pair.Start.PID, pair.Start.Args[0].Text())
	}
	all, err := p.Times()
	for _, b := range all.Hist {
		fmt.Fprintf(out, "%v to %v: %d of %d\n", time.Duration(b.Lo), time.Duration(b.Hi), b.N, all.Count)
	}
	return err
}
