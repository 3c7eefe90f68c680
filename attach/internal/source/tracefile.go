package source

import (
	"errors"
	"math"

	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/reader"
)

// traceFile is a file that a Recorder has written.
type traceFile struct{ *tracefile.File }

func (f traceFile) find(string) (probes []reader.Probe, sites []recordedSite, err error) {
	if len(f.Sites) == 0 {
		return nil, nil, errors.New("there were no probes when it was written")
	}
	for i := range f.Sites {
		s := &f.Sites[i]
		kept := site.Recorded{Kept: true, Limit: s.Shape.Layout.Limit, Saved: s}
		probes, sites = append(probes, *s.Probe), append(sites, recordedSite{number: uint32(i), Recorded: kept})
	}
	return probes, sites, nil
}

func (f traceFile) lacksStacks() error {
	for i := range f.Sites {
		if f.Sites[i].Layout.Stacks == 0 {
			return errors.New("record it with --stack")
		}
	}
	return nil
}

var errStackDamaged = errors.New("the part of the file that has the stack is damaged")

func (f traceFile) stack(number uint64) *event.Stack {
	s := f.Stack(number)
	switch {
	case s == nil:
		return decode.SavedStack(nil, nil, errStackDamaged)
	case s.Err != "":
		return decode.SavedStack(s.PCs, s.Names, errors.New(s.Err))
	}
	return decode.SavedStack(s.PCs, s.Names, nil)
}

func (f traceFile) stats() Counts {
	c := &f.Counts
	lost := c.Lost + f.Illegible
	if lost < c.Lost {
		lost = math.MaxUint64 // of a file that lies
	}
	return Counts{Fired: lost + c.Missed, Lost: lost, Missed: c.Missed, Full: c.Lost}
}

func (f traceFile) losses() []tracefile.Loss { return f.Losses }

func (f traceFile) group(id uint64) (container.Group, bool) {
	g, known := f.Groups[id]
	return container.Group{Path: g.Path, Container: g.Container, Pod: g.Pod}, known
}
