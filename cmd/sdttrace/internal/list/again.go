package list

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/internal/printable"
)

// Again is a list that is made again and again.
type Again struct {
	Interval time.Duration
	JSON     bool
	// Read returns the present probes. Its remarks go to stderr.
	Read func(stderr io.Writer) (*List, error)
}

// Print prints the list each interval until ctx is done: on a terminal in place.
func (l *Again) Print(ctx context.Context, stdout, stderr io.Writer) error {
	var on *screen.Screen
	if !l.JSON {
		on = screen.New(stdout)
	}
	stderr = printable.Writer(on.Above(printable.Behind(stderr)))
	tick := time.NewTicker(l.Interval)
	defer tick.Stop()
	changes, stop := on.Changes()
	defer stop()
	var said bytes.Buffer
	for {
		var says bytes.Buffer
		found, err := l.Read(printable.Writer(&says))
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(says.Bytes(), said.Bytes()) { // not the same again and again
			said = says
			if err := screen.WriteLines(stderr, says.Bytes()); err != nil {
				return err
			}
		}
		if err := l.write(found, on, stdout); err != nil {
			return output.Error(err)
		}
		for waiting := true; waiting; {
			select {
			case change := <-changes:
				on.Change(change)
			case <-tick.C:
				waiting = false
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// write writes a list: in JSON with its time, as text below a line that has it.
func (l *Again) write(found *List, on *screen.Screen, stdout io.Writer) error {
	now := time.Now()
	var text bytes.Buffer
	if l.JSON {
		for i := range found.Probes {
			found.Probes[i].Time = &now
		}
		if err := found.JSON(&text); err != nil {
			return err
		}
		_, err := stdout.Write(text.Bytes())
		return err
	}
	if err := found.Text(&text); err != nil {
		return err
	}
	watched := 0
	for i := range found.Probes {
		if p := &found.Probes[i]; p.watched() || p.Local > 0 {
			watched++
		}
	}
	title := fmt.Sprintf("%s  %s, %d watched", now.Format("15:04:05"), printable.Many(len(found.Probes), "probe", "probes"), watched)
	if on != nil {
		return on.Draw(title, text.Bytes())
	}
	_, err := fmt.Fprintf(stdout, "%s\n%s\n", title, text.Bytes())
	return err
}
