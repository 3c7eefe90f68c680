package list

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/tracepoint"
	"github.com/go-usdt/usdt/internal/watch"
	"github.com/go-usdt/usdt/reader"
)

// listedFunction is a line of the list of functions.
type listedFunction struct {
	PID      int    `json:"pid,omitempty"`
	Kind     string `json:"kind"`
	Provider string `json:"provider"`
	Name     string `json:"name"`
	Path     string `json:"path,omitempty"`
	Location uint64 `json:"location"`
	Offset   uint64 `json:"offset"`
	Size     uint64 `json:"size,omitempty"`
	Address  uint64 `json:"address,omitempty"`
	Function string `json:"function,omitempty"` // that has the line, or was inlined
	Inlined  bool   `json:"inlined,omitempty"`
	Reason   string `json:"reason,omitempty"` // why it cannot be traced
	// Watchers are who traces it now.
	Watchers []watch.Watcher `json:"watchers,omitempty"`
	// Variables are those in scope, or a function's arguments or results, if they are asked for.
	Variables []listedVariable `json:"variables,omitempty"`

	line, kernel bool
	lacking      string // why variables are missing
}

// listedVariable is a variable in scope at a line.
type listedVariable struct {
	Name     string `json:"name"`
	Type     string `json:"type,omitempty"`
	Argument bool   `json:"argument,omitempty"`
	Global   bool   `json:"global,omitempty"`
	Reason   string `json:"reason,omitempty"` // why it has no value

	part bool // of another variable
}

// variablesOf returns the variables in scope at a site, and the arguments or results of a function.
func variablesOf(p *reader.Probe) (all []listedVariable) {
	var variables []reader.Variable
	switch {
	case p.Kind.HasFields():
		for i := range p.Kernel.Fields {
			if f := &p.Kernel.Fields[i]; tracepoint.Shown(f) {
				variables = append(variables, *f)
			}
		}
	case p.Kernel != nil:
		params := p.Kernel.Types().Params
		for i := range params {
			a := &params[i]
			out := listedVariable{Name: a.Name, Type: a.Type, Argument: p.Kind.HasArguments() && (!p.Kind.IsReturn() || i < len(params)-1 || a.Name != "retval")}
			if a.Err != nil {
				out.Reason = a.Err.Error()
			}
			all = append(all, out)
		}
		return all
	case p.Source != nil:
		variables = p.Source.Variables
	case p.Target == nil || p.Target.Typed == nil || p.Displacement() != 0 && !p.AtRET:
	case p.Kind.IsReturn():
		variables = p.Target.Typed.Results
	default:
		variables = p.Target.Typed.Arguments
	}
	for i := range variables {
		v := &variables[i]
		out := listedVariable{Name: v.Name, Type: v.Type, Argument: v.Argument, Global: v.Global, part: v.Behind || !remark.Whole(v.Name, variables)}
		if v.Err != nil {
			out.Reason = v.Err.Error()
		}
		all = append(all, out)
	}
	return all
}

// variables returns the function's own variables as text: variables of the whole unit, and members of
// structures, may be many.
func (f *listedFunction) variables() string {
	var all []string
	for _, v := range f.Variables {
		if v.Global || v.part && !strings.HasPrefix(v.Name, "retval.") {
			continue
		}
		text := v.Name
		if v.Type != "" {
			text += " " + v.Type
		}
		if v.Reason != "" {
			text += " (" + v.Reason + ")"
		}
		all = append(all, printable.Name(text))
	}
	return cmp.Or(strings.Join(all, ", "), f.lacking, "-")
}

// lacking returns why the variables at a site are missing, "" if nothing is known to be.
func lacking(p *reader.Probe) string {
	var err error
	switch {
	case p.Source != nil:
		err = p.Source.Err
	case p.Target != nil && p.Target.Typed != nil:
		err = p.Target.Typed.Err
	}
	if err == nil {
		return ""
	}
	return printable.String("(" + err.Error() + ")")
}

// selector names the function, and no other, for sdttrace.
func (f *listedFunction) selector() string {
	switch {
	case f.line:
		return selector.Line(f.Path, f.Name)
	case f.kernel:
		return selector.Kernel(f.Kind, f.Provider, f.Name)
	}
	return selector.Function(f.Kind, f.Path, f.Name)
}

// of says which function has the code of a line, "" if the probe is for a function.
func (f *listedFunction) of() string {
	if f.Inlined {
		return f.Function + " (inlined)"
	}
	return f.Function
}

// Functions prints the functions, or instructions, that selectors name.
func (l *List) Functions(ctx context.Context, selectors []string, pids []int, asJSON bool, stdout io.Writer) error {
	plan, err := attach.Find(ctx, selectors, &attach.FindOptions{Target: attach.Target{PIDs: pids}, Types: l.Verbose})
	if err != nil {
		return err
	}
	functions := make([]listedFunction, len(plan))
	watchers := sync.OnceValue(watch.Find) // a search of the machine, which sites of the kernel do not need
	for i := range plan {
		s := &plan[i]
		p := &s.Probe
		f := &functions[i]
		*f = listedFunction{
			PID: s.PID, Kind: p.Kind.String(), Provider: p.Provider, Name: p.Name, Path: p.Path,
			Location: p.Location, Offset: s.Offset, Size: sizeOf(p), kernel: p.Kind.InKernel(),
		}
		if p.Source != nil {
			f.Function, f.Inlined, f.line = p.Source.Func, p.Source.Inlined, p.Source.Line != ""
		}
		if p.Kind.InFile() {
			f.Watchers = watchers().At(p.Path, p.Attachable(), s.Offset, s.PID)
		}
		if l.Verbose {
			f.Variables = variablesOf(p)
			f.lacking = lacking(p)
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
		return output.Error(writeJSON(stdout, functions))
	}
	second := "SIZE"
	if slices.ContainsFunc(functions, func(f listedFunction) bool { return f.Function != "" }) {
		second = "FUNCTION"
	}
	t := table{width: l.Width, columns: []column{{name: "ADDRESS"}, {name: second, least: 12}, {name: "PROBE", least: 20, end: true}, {name: "REFUSED", below: true}}}
	watched := slices.ContainsFunc(functions, func(f listedFunction) bool { return len(f.Watchers) > 0 })
	if watched {
		t.columns = slices.Insert(t.columns, 2, column{name: "BY", least: 12})
	}
	if l.Verbose {
		t.columns = append(t.columns, column{name: "VARIABLES", below: true})
	}
	for i := range functions {
		f := &functions[i]
		reason := printable.Name(f.Reason)
		if reason == "" {
			reason = "-"
		}
		size := fmt.Sprint(f.Size)
		if f.kernel {
			size = "-"
		}
		if second != "SIZE" {
			size = cmp.Or(printable.Name(f.of()), "-")
		}
		address := fmt.Sprintf("%#x", f.Location)
		if plan[i].Probe.Kind.HasFields() {
			address = "-" // Location is its number
		}
		row := []string{address, size, printable.Name(selector.Shell(f.selector())), reason, f.variables()}
		if watched {
			row = slices.Insert(row, 2, cmp.Or(strings.Join(words(f.Watchers), ","), "-"))
		}
		t.rows = append(t.rows, row[:len(t.columns)])
	}
	return output.Error(t.write(stdout))
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
