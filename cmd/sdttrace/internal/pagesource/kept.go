package pagesource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/perfetto"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/profile"
)

// Kept are the newest events that a page shows, as files.
type Kept struct {
	Timeline *session.Timeline
	Events   []string // probes whose events are shown
	Spans    []string // pairs that are shown
	Traced   []string // probes of both
	Options  attach.Options
}

// Write writes what one of serve.Downloads has of the events.
func (k *Kept) Write(ctx context.Context, as string, w io.Writer) (err error) {
	file, err := os.CreateTemp("", "sdttrace-*.usdt")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	if err := k.Timeline.WriteKept(file); err != nil {
		return err
	}
	if as == "usdt" {
		_, err := io.Copy(w, io.NewSectionReader(file, 0, math.MaxInt64))
		return err
	}
	path := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	opts := &attach.Options{Target: attach.Target{Recordings: []string{path}}, Prototypes: k.Options.Prototypes, Stack: k.Options.Stack, Where: k.Options.Where}
	probes, spans := k.Traced, []string(nil)
	if as == "pftrace" {
		probes, spans = k.Events, k.Spans
	}
	t, err := session.Watch(ctx, probes, spans, nil, opts, 0)
	if err != nil {
		return err
	}
	defer t.Close()
	if as == "pftrace" {
		writer := perfetto.New(w, &perfetto.Options{Names: perfetto.NameOfProcess, Recorded: true})
		failed := writer.Timeline(t, 0, func() {})
		return errors.Join(failed, writer.Flush())
	}
	p := profile.New("")
	t.Each(func(one *session.Delivered, failed error) bool {
		err = cmp.Or(err, failed)
		if one.Event != nil && one.Event.Probe != nil {
			p.Add(one.Event)
			p.Cover(one.Event.Time)
		}
		return true
	})
	if as == "folded" {
		return errors.Join(err, p.WriteFolded(w))
	}
	return errors.Join(err, p.WritePprof(w))
}
