package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/look"
	"github.com/go-usdt/usdt/prototype"
)

// prototypes returns the names of arguments that --providers asks for.
func (f *traceFlags) prototypes() (*prototype.Table, error) {
	table, err := loadPrototypes(f.providers)
	if err != nil {
		return nil, err
	}
	f.meanings.Table = table
	if len(f.providers) > 0 {
		f.meanings.Given, err = loadPrototypes(append([]string{prototype.None}, f.providers...))
	}
	return table, err
}

// loadPrototypes returns the names that are known, installed and in files.
func loadPrototypes(files []string) (*prototype.Table, error) {
	table, err := prototype.Load(files...)
	if syntax := (*prototype.SyntaxError)(nil); err != nil && !errors.As(err, &syntax) { // which says where
		err = fmt.Errorf("--providers: %w", err)
	}
	if err != nil {
		return nil, usageError{err}
	}
	return table, nil
}

// looks returns what the first look at the providers among a verb's words shows, and the other
// words.
func (f *traceFlags) looks(ctx context.Context, args []string) ([]prototype.Look, []string, error) {
	if !slices.ContainsFunc(args, look.IsProvider) {
		return nil, args, nil
	}
	finder, err := f.finder()
	if err != nil {
		return nil, nil, err
	}
	return finder.Find(ctx, args)
}

// finder finds first looks at what is traced.
func (f *traceFlags) finder() (*look.Finder, error) {
	table, err := f.prototypes()
	if err != nil {
		return nil, err
	}
	return &look.Finder{Table: table, Recordings: f.replayed.Paths(), PIDs: f.pids, Force: f.force, Later: f.wait || len(f.command) > 0}, nil
}

// look takes what the first look at providers shows as the deed's own flags would.
func (d *spanning) look(ctx context.Context, args []string) ([]string, error) {
	looks, probes, err := d.looks(ctx, args)
	d.looked = len(looks) > 0
	for _, l := range looks {
		for _, probe := range look.Probes(l) {
			if !slices.Contains(probes, probe) {
				probes = append(probes, probe)
			}
		}
		if !l.Single() {
			d.texts, d.by = append(d.texts, l.Span), append(d.by, l.By)
		}
		if l.Stack && !d.given("stack") && d.replayed == nil {
			d.stack.Calls = attach.MaxStack
			d.stacks = append(d.stacks, look.Probes(l)[0])
		}
	}
	return probes, err
}
