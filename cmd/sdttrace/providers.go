package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
)

// prototypes returns the names of arguments that --providers asks for.
func (f *traceFlags) prototypes() (*prototype.Table, error) {
	table, err := loadPrototypes(f.providers)
	if err != nil {
		return nil, err
	}
	f.meanings.table = table
	if len(f.providers) > 0 {
		f.meanings.given, err = loadPrototypes(append([]string{prototype.None}, f.providers...))
	}
	return table, err
}

// announce says on stderr which probes have lines in files of --providers that do not fit
// their arguments.
func (m *meanings) announce(stderr io.Writer, plan attach.Plan) {
	told, named := map[string]bool{}, len(m.given.Prototypes()) == 0
	for i := range plan {
		p := &plan[i].Probe
		form := p.Provider + ":" + p.Name + " " + p.Args
		lines := m.given.Of(p.Provider, p.Name)
		named = named || len(lines) > 0
		if len(lines) == 0 || told[form] || p.Type != nil || m.given.Lookup(p.Provider, p.Name, p.Arguments(), notes.Class(p.Class)) != nil {
			continue
		}
		told[form] = true
		fmt.Fprintf(stderr, "sdttrace: %s:%d: %v does not fit the arguments of the probe in %s, %s: %s\n", lines[0].File, lines[0].Line, &lines[0], p.Path, p.Args, lines[0].Misfit(p.Arguments(), notes.Class(p.Class)))
	}
	if !named {
		fmt.Fprintln(stderr, "sdttrace: --providers: none of the probes that are traced until now has a line there")
	}
}

// loadPrototypes returns the names that are known, installed and in files.
func loadPrototypes(files []string) (*prototype.Table, error) {
	table, err := prototype.Load(files...)
	var syntax *prototype.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, usageError{err} // which says where
	case err != nil:
		return nil, usageError{fmt.Errorf("--providers: %w", err)}
	}
	return table, nil
}
