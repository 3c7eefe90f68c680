package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
)

// threshold is a flag for a duration. Zero is a value, and differs from no flag.
type threshold struct {
	time.Duration
	given bool
}

func (t *threshold) Set(s string) (err error) {
	t.Duration, err = time.ParseDuration(s)
	if t.given = err == nil; err == nil && t.Duration < 0 {
		err = errors.New("it is negative")
	}
	return err
}

func (t *threshold) String() string {
	if !t.given {
		return ""
	}
	return t.Duration.String()
}

func (t *threshold) Type() string { return "duration" }

// printSlow writes pairs until there are enough or no more.
func (f *latencies) printSlow(p *attach.Pairs, stdout io.Writer) error {
	out := bufio.NewWriterSize(stdout, 64<<10)
	var line []byte
	n := uint64(0)
	var first error // of a pair; later pairs follow
	for pair, err := range p.All() {
		if err != nil && (pair.Start.Probe == nil || pair.End.Probe == nil) {
			return errors.Join(err, out.Flush())
		}
		if first == nil {
			first = err
		}
		if f.output.Readable {
			f.meanings.Event(&pair.Start)
			f.meanings.Event(&pair.End)
		}
		line = f.output.Pair(line[:0], &pair)
		_, err := out.Write(line)
		// Fast pairs may be all that waits behind this one, unless the kernel drops them.
		if err == nil && (p.Via() != attach.ViaKernel || p.Idle()) {
			err = out.Flush()
		}
		if err != nil {
			return output.Error(err)
		}
		if n++; n == f.limit {
			break
		}
	}
	return errors.Join(first, output.Error(out.Flush()))
}

// printPairCounts reports what became of the events of pairs.
func printPairCounts(stderr io.Writer, p *attach.Pairs, slower time.Duration) error {
	c, err := p.Counts()
	if err != nil {
		return err
	}
	pairs := fmt.Sprintf("%d pairs", c.Pairs)
	if slower > 0 {
		pairs = fmt.Sprintf("%d of %d pairs took longer than %v", c.Pairs-c.Fast, c.Pairs, slower)
	}
	return printUnpaired(stderr, pairs, &c)
}
