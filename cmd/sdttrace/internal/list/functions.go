package list

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
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
	return selector.Function(f.Kind, f.Path, f.Name)
}

// Functions prints the functions, or instructions, that selectors name.
func Functions(ctx context.Context, selectors []string, pids []int, asJSON bool, stdout io.Writer) error {
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
	nameVersions(functions, plan)
	if asJSON {
		enc := json.NewEncoder(printable.JSONWriter(stdout))
		enc.SetEscapeHTML(false)
		for i := range functions {
			if err := enc.Encode(&functions[i]); err != nil {
				return output.Error(err)
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
		fmt.Fprintf(tw, "%#x\t%d\t%s\t%s\n", f.Location, f.Size, printable.String(selector.Shell(f.selector())), reason)
	}
	return output.Error(tw.Flush())
}

// nameVersions gives functions of one name their versions: libraries keep what programs
// were linked with long ago (memcpy@GLIBC_2.2.5).
func nameVersions(functions []listedFunction, plan attach.Plan) {
	type name struct {
		pid              int
		kind, path, name string
	}
	at := map[name]map[uint64]bool{}
	of := func(f *listedFunction) name { return name{f.PID, f.Kind, f.Path, f.Name} }
	for i := range functions {
		n := of(&functions[i])
		if at[n] == nil {
			at[n] = map[uint64]bool{}
		}
		at[n][functions[i].Location] = true
	}
	for i := range functions {
		f := &functions[i]
		if target := plan[i].Probe.Target; target != nil && len(at[of(f)]) > 1 {
			f.Name = cmp.Or(target.Versioned(f.Name), f.Name)
		}
	}
}

// sizeOf returns the size in bytes of the function, 0 for an instruction.
func sizeOf(p *reader.Probe) uint64 {
	if p.Target == nil || p.Displacement() != 0 {
		return 0
	}
	return p.Target.Size
}
