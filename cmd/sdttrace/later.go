package main

import (
	"fmt"
	"io"
	"time"
)

// later says what is attached to while sdttrace runs.
type later struct {
	s      tracer
	stderr io.Writer
	known  int
	stop   chan struct{}
	done   chan struct{}
}

// announceEvery is how often there may be something new to say.
const announceEvery = 100 * time.Millisecond

// announceLater says on stderr which sites are attached to beside the first
// known ones, soon after they are.
func announceLater(s tracer, stderr io.Writer, known int) *later {
	l := &later{s: s, stderr: stderr, known: known, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		tick := time.NewTicker(announceEvery)
		defer tick.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-tick.C:
				l.announce()
			}
		}
	}()
	return l
}

func (l *later) announce() {
	all := l.s.Plan()
	more := all[l.known:]
	if len(more) == 0 {
		return
	}
	l.known = len(all)
	fmt.Fprintf(l.stderr, "sdttrace: attached to %d of %d sites that appeared meanwhile\n", more.Attached(), len(more))
	printRemarks(l.stderr, more)
}

// finish says the rest. Nothing is said afterwards.
func (l *later) finish() {
	close(l.stop)
	<-l.done
	l.announce()
}
