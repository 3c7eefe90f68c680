package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// listedFunction is a line of the list of functions.
type listedFunction struct {
	PID      int    `json:"pid,omitempty"`
	Kind     string `json:"kind"`
	Provider string `json:"provider"`
	Name     string `json:"name"`
	Path     string `json:"path"`
	Location uint64 `json:"location"`
	Offset   uint64 `json:"offset"`
	Size     uint64 `json:"size,omitempty"`
	Address  uint64 `json:"address,omitempty"`
	Reason   string `json:"reason,omitempty"` // why it cannot be traced
}

// selector names the function, and no other, for sdttrace.
func (f *listedFunction) selector() string {
	return f.Kind + ":" + selector.Quote(f.Path) + ":" + selector.Quote(f.Name)
}

// listFunctions prints the functions, or instructions, that selectors name.
func listFunctions(ctx context.Context, selectors []string, pids []int, asJSON bool, stdout io.Writer) error {
	plan, err := attach.Find(ctx, selectors, &attach.FindOptions{Target: attach.Target{PIDs: pids}})
	if err != nil {
		return err
	}
	functions := make([]listedFunction, len(plan))
	for i := range plan {
		s := &plan[i]
		p := &s.Probe
		f := &functions[i]
		*f = listedFunction{
			PID: s.PID, Kind: p.Kind.String(), Provider: p.Provider, Name: p.Name, Path: p.Path,
			Location: p.Location, Offset: s.Offset, Size: sizeOf(p),
		}
		if p.Live != nil {
			f.Address = p.Live.Address
		}
		if s.Reason != nil {
			f.Reason = s.Reason.Error()
		}
	}
	if asJSON {
		enc := json.NewEncoder(printable.JSONWriter(stdout))
		enc.SetEscapeHTML(false)
		for i := range functions {
			if err := enc.Encode(&functions[i]); err != nil {
				return outputError(err)
			}
		}
		return nil
	}
	tw := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "ADDRESS\tSIZE\tPROBE\tREFUSED")
	for i := range functions {
		f := &functions[i]
		reason := printable.String(f.Reason)
		if reason == "" {
			reason = "-"
		}
		fmt.Fprintf(tw, "%#x\t%d\t%s\t%s\n", f.Location, f.Size, printable.String(f.selector()), reason)
	}
	return outputError(tw.Flush())
}

// sizeOf returns the size in bytes of the function, 0 for an instruction.
func sizeOf(p *reader.Probe) uint64 {
	if p.Target == nil || p.Displacement() != 0 {
		return 0
	}
	return p.Target.Size
}
