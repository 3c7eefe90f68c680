// Assembly adds up the cents of till:order in a process by a BPF program that is written in Go.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/argasm"
	"github.com/go-usdt/usdt/reader"
)

func main() {
	pid := flag.Int("p", 0, "the process")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, attach.Target{PIDs: []int{*pid}}); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, target attach.Target) error {
	plan, err := attach.Find(ctx, []string{"till:order"}, &attach.FindOptions{Target: target})
	if err != nil {
		return err
	}
	ins, err := argasm.Reader{}.Arg(&plan[0].Probe, 1) // into R0
	if err != nil {
		return err
	}
	ins = append(append(asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}, ins...), asm.LoadMapValue(asm.R1, 0, 0).WithReference("sum"), asm.AddAtomic.Mem(asm.R1, asm.R0, asm.DWord, 0), asm.Mov.Imm(asm.R0, 0), asm.Return())
	c, err := ebpf.NewCollection(&ebpf.CollectionSpec{
		Maps:     map[string]*ebpf.MapSpec{"sum": {Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}},
		Programs: map[string]*ebpf.ProgramSpec{"add": {Type: ebpf.Kprobe, License: "GPL", Instructions: ins}},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	a, err := attach.AttachProbes(c.Programs["add"], []reader.Probe{plan[0].Probe}, &attach.ProgramOptions{Target: target})
	if err != nil {
		return err
	}
	defer a.Close()
	fmt.Fprintln(out, "Adding up cents. Ctrl-C ends.")
	<-ctx.Done()
	var cents int64
	err = c.Maps["sum"].Lookup(uint32(0), &cents)
	fmt.Fprintf(out, "%.2f\n", float64(cents)/100)
	return err
}
