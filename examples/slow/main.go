//go:build linux && (amd64 || arm64)

// Slow is dbslower in C and Go: usdt2go makes typed Go of slow.bpf.c.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/cilium/ebpf/ringbuf"
	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
)

//go:generate go tool usdt2go -target amd64,arm64 -type statement slow slow.bpf.c -- -I/usr/include/x86_64-linux-gnu

func main() {
	slower := flag.Duration("slower", 10*time.Millisecond, "leave out what is not slower")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *slower, attach.Target{}); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, slower time.Duration, target attach.Target) error {
	spec, err := loadSlow()
	if err != nil {
		return err
	}
	unset := errors.Join(spec.Variables["slower"].Set(uint64(slower)), collection.SetPIDNamespace(spec.Variables["namespace"]))
	c, err := collection.New(ctx, spec, &collection.Options{Target: target})
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := ringbuf.NewReader(c.Maps["statements"])
	if err := errors.Join(unset, err, c.Attach(ctx)); err != nil {
		return err
	}
	defer r.Close()
	defer context.AfterFunc(ctx, func() { r.Flush() })()
	fmt.Fprintf(out, "Statements slower than %v. Ctrl-C ends.\n", slower)
	for rec, err := r.Read(); err == nil; rec, err = r.Read() {
		var s slowStatement
		binary.Decode(rec.RawSample, binary.NativeEndian, &s) // of the size that it has
		fmt.Fprintf(out, "%v %d %s\n", time.Duration(s.Took), s.Pid, s.Text[:bytes.IndexByte(s.Text[:], 0)])
	}
	return nil
}
