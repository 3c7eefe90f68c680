package list

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/shell"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/watch"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Probe is a line of the list.
type Probe struct {
	Time      *time.Time `json:"time,omitempty"` // with --interval
	PID       int        `json:"pid"`
	Comm      string     `json:"comm"`
	Provider  string     `json:"provider"`
	Name      string     `json:"name"`
	Path      string     `json:"path"`
	Address   uint64     `json:"address"`
	Semaphore *uint16    `json:"semaphore_value,omitempty"`
	Local     uint16     `json:"local_watchers,omitempty"`
	Recorded  bool       `json:"recorded,omitempty"`
	State     string     `json:"state,omitempty"`
	Args      string     `json:"args"`
	Reason    string     `json:"reason,omitempty"` // why it cannot be traced
	// Arguments are the arguments that have names, with -v.
	Arguments []listedArgument `json:"arguments,omitempty"`

	Watchers []watch.Watcher `json:"watchers,omitempty"`

	opens  string // leads to the file from here
	offset uint64 // of the site, in the file
}

type listedArgument struct {
	Name string `json:"name"`
	Type string `json:"type"`

	declared string // as C
}

// List is what is listed.
type List struct {
	Verbose    bool
	Prototypes *prototype.Table // of -v
	Selectors  []selector.Selector
	Probes     []Probe
	Silent     remark.Silences
	Width      int    // of the terminal; 0 for none
	near       string // what may have been meant if nothing matches
	distance   int    // of near
	others     string // a provider that was named, and has other probes
}

func (l *List) wants(p *reader.Probe) bool {
	for i := range l.Selectors {
		s := &l.Selectors[i]
		if s.Match(p.Path, p.Provider, p.Name) {
			return true
		}
		if instead, distance, ok := s.Near(p.Provider, p.Name); ok && (l.near == "" || distance < l.distance) {
			l.near, l.distance = instead, distance
		}
		if s.Provider == p.Provider {
			l.others = s.Provider
		}
	}
	return len(l.Selectors) == 0
}

func (l *List) read(ctx context.Context, pids []int, stderr io.Writer) error {
	if len(pids) == 0 {
		hidden, first := 0, error(nil)
		for p, err := range reader.Processes() {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err == nil:
				l.process(p)
			case errors.Is(err, procfs.ErrNoProc):
				return err
			case errors.Is(err, os.ErrPermission):
				hidden++
				first = cmp.Or(first, err)
			}
		}
		l.Silent.Announce(stderr)
		switch {
		case hidden == 1 && (len(l.Probes) == 0 && l.near+l.others == "" || l.Verbose): // else it is PID 1 of a container, and what was asked for is there
			fmt.Fprintf(stderr, "sdttrace: one process could not be read: %v\n", first)
		case hidden > 1:
			remedy := ""
			if os.Geteuid() != 0 {
				remedy = "; run: " + shell.Privileged(os.Args[1:])
			}
			fmt.Fprintf(stderr, "sdttrace: %s could not be read; the first: %v%s\n", printable.Many(hidden, "process", "processes"), first, remedy)
		}
	}
	for _, pid := range pids {
		p, err := reader.OpenProcess(pid)
		if err != nil {
			return err
		}
		l.process(p)
		p.Close()
	}
	if len(l.Probes) == 0 {
		if l.near != "" {
			return fmt.Errorf("%w, but %s would", ErrNoneMatches, l.near)
		}
		if l.others != "" {
			return fmt.Errorf("%w, but %s has others: sdttrace list %s", ErrNoneMatches, l.others, selector.Shell(l.others+":*"))
		}
		if len(l.Selectors) == 0 && len(pids) == 1 {
			return fmt.Errorf("%w: process %d has none", ErrNoneMatches, pids[0])
		}
		return ErrNoneMatches
	}
	return nil
}

// ErrNoneMatches is the error of a list of no probes.
var ErrNoneMatches = errors.New("no probe matches")

// process adds the probes of proc. It leaves out what cannot be read, since the
// process may be about to end.
func (l *List) process(proc *reader.Process) {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", proc.PID()))
	if err != nil {
		return
	}
	for p, err := range proc.Probes() {
		if err != nil || p.Live == nil || !l.wants(&p) {
			continue
		}
		lp := Probe{
			PID: proc.PID(), Comm: strings.TrimSpace(string(comm)), Provider: p.Provider, Name: p.Name,
			Path: p.Path, Address: p.Live.Address, Args: p.Args, State: state(&p),
			opens: p.Attachable(), offset: p.Offset,
		}
		if n, err := p.SemaphoreValue(); err == nil {
			lp.Semaphore = &n
		}
		if n, err := p.LocalWatchers(); err == nil {
			lp.Local = n
		}
		if recorded, err := p.Recorded(); err == nil {
			lp.Recorded = recorded
		}
		if l.Verbose {
			lp.Arguments = l.arguments(&p)
		}
		l.Probes = append(l.Probes, lp)
	}
	for _, d := range proc.Declared() {
		var p reader.Probe
		p.Provider, p.Name = d.Provider, d.Name
		if l.wants(&p) {
			l.Probes = append(l.Probes, Probe{
				PID: proc.PID(), Comm: strings.TrimSpace(string(comm)), Provider: d.Provider, Name: d.Name,
				State: stateDeclared, Reason: d.NotLoaded(proc.PID(), 0),
			})
		}
	}
}

// stateDeclared is the state of a probe that its process has not loaded.
const stateDeclared = "declared"

// arguments returns the arguments of a probe that have names.
func (l *List) arguments(p *reader.Probe) (all []listedArgument) {
	if p.Type != nil {
		for i := range p.Type.Fields {
			f := &p.Type.Fields[i]
			all = append(all, listedArgument{f.Name, f.CType, f.Declare()})
		}
		return all
	}
	known := l.Prototypes.Lookup(p.Provider, p.Name, p.Arguments(), notes.Class(p.Class))
	if known == nil {
		return nil
	}
	for i := range known.Params {
		all = append(all, listedArgument{known.Params[i].Name, known.Params[i].Type, known.Declare(i)})
	}
	return all
}

// declared returns the arguments as a list in parentheses, or as the note has them.
func (p *Probe) declared() string {
	if len(p.Arguments) == 0 {
		return printable.Name(p.Args)
	}
	var all []string
	for _, a := range p.Arguments {
		all = append(all, printable.Name(a.declared))
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// state returns the state of the site, "" if the site cannot be read.
func state(p *reader.Probe) string {
	site, err := p.Site()
	if err != nil {
		return ""
	}
	return site.State.String()
}

// JSON writes an object a line.
func (l *List) JSON(w io.Writer) error {
	return writeJSON(w, l.Probes)
}

func writeJSON[T any](w io.Writer, list []T) error {
	enc := json.NewEncoder(printable.JSONWriter(w))
	enc.SetEscapeHTML(false)
	for i := range list {
		if err := enc.Encode(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// watchedBy returns how many tracers watch the probe, "-" if no semaphore counts them.
func (p *Probe) watchedBy() string {
	if p.Semaphore == nil {
		return "-"
	}
	return fmt.Sprint(p.Count())
}

// Text writes a summary, if there are several providers, and a table. On a terminal the table leaves out
// providers with very many probes, unless they were asked for.
func (l *List) Text(w io.Writer) error {
	if err := l.summary(w); err != nil {
		return err
	}
	rows, left := l.shown(l.folded())
	t := table{width: l.Width, columns: []column{
		{name: "PID"}, {name: "COMM", least: 6, drop: true}, {name: "PROBE", least: 20, last: true, end: true}, {name: "ARGUMENTS", below: true},
		{name: "TRACERS"}, {name: "SITE"}, {name: "BY", least: 6, end: true}, {name: "PATH", least: 12, end: true, drop: true, below: l.Verbose},
	}}
	for _, r := range rows {
		path := printable.Name(r.Path)
		if r.Reason != "" && l.Verbose {
			path += " (refused: " + printable.Name(r.Reason) + ")"
		}
		t.rows = append(t.rows, []string{
			r.processes(), named(r.comms), printable.Name(r.Provider) + ":" + printable.Name(r.Name), r.declared(), r.watchedBy(), andMore(r.site(), r.alike), r.By(), path,
		})
	}
	if !l.Verbose {
		t.without("ARGUMENTS")
	}
	if len(t.rows) > 0 {
		if err := t.write(w); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, left)
	return err
}
