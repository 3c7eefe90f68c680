package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-usdt/usdt/attach"
)

// threshold is a flag for a duration of which zero says something, too.
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
		if f.output.readable {
			f.meanings.event(&pair.Start)
			f.meanings.event(&pair.End)
		}
		line = f.output.pair(line[:0], &pair)
		_, err := out.Write(line)
		// Fast pairs may be all that waits behind this one, unless the kernel drops them.
		if err == nil && (p.Via() != attach.ViaKernel || p.Idle()) {
			err = out.Flush()
		}
		if err != nil {
			return outputError(err)
		}
		if n++; n == f.limit {
			break
		}
	}
	return errors.Join(first, outputError(out.Flush()))
}

// appendPair appends a pair as a line of text: when it ended, how long it took, and what
// its start and its end have; below, the calls that led to each.
func appendPair(dst []byte, pair *attach.Pair) []byte {
	dst = appendProcess(pair.End.Time.AppendFormat(dst, "15:04:05.000000"), &pair.Start)
	dst = append(append(dst, " latency="...), pair.Took.String()...)
	dst = append(appendFired(dst, &pair.Start), " ->"...)
	if pair.Start.PID != pair.End.PID || pair.Start.Comm != pair.End.Comm {
		dst = appendProcess(dst, &pair.End)
	}
	dst = appendFired(dst, &pair.End)
	if pair.Start.Stack != nil && pair.End.Stack != nil {
		dst = append(appendCalls(dst, &pair.Start), "\n      ->"...)
	}
	return append(appendCalls(dst, &pair.End), '\n')
}

func appendPairJSON(dst []byte, pair *attach.Pair) []byte {
	return append(pair.AppendJSON(dst), '\n')
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
