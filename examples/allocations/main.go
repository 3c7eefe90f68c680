// Allocations writes a profile of the memory that a process allocates by malloc, by stack, for
// go tool pprof. The kernel adds up.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/profile"
)

func main() {
	pid := flag.Int("p", 0, "the process")
	file := flag.String("o", "allocations.pb.gz", "the profile")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *pid, *file); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, pid int, file string) error {
	a, err := attach.OpenAggregate(ctx, []string{"uprobe:libc.so.6:malloc"}, attach.Sum("arg0").By("stack"),
		&attach.Options{Target: attach.Target{PIDs: []int{pid}}, Unwind: true, Stack: 32})
	if err != nil {
		return err
	}
	defer a.Close()
	fmt.Fprintln(out, "Adding up allocations. Ctrl-C, or the end of the process, ends.")
	<-a.Done()

	groups, err := a.Read()
	if err != nil {
		return err
	}
	p := profile.Of(profile.Value{Type: "allocations", Unit: "count"}, profile.Value{Type: "space", Unit: "bytes"})
	for i := range groups {
		p.AddGroup(&groups[i])
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.WritePprof(f); err != nil {
		return err
	}
	return f.Close()
}
