package bind

import (
	"debug/elf"
	"errors"
	"fmt"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// ofKernel returns a plan of functions of the kernel, of which each two differ in something that their
// events show: in names, types, sizes and errors of arguments, and in what is known of them at all.
func ofKernel() (plan site.Plan) {
	param := func(change func(a *reader.KernelParam)) *reader.KernelFunction {
		a := reader.KernelParam{Name: "n", Type: "int", TypeID: 7, Size: 4, Signed: true}
		change(&a)
		return &reader.KernelFunction{Params: []reader.KernelParam{a}}
	}
	for i, k := range []*reader.KernelFunction{
		param(func(*reader.KernelParam) {}),
		param(func(a *reader.KernelParam) { a.Name = "m" }),
		param(func(a *reader.KernelParam) { a.TypeID, a.Type = 8, "unsigned int" }),
		param(func(a *reader.KernelParam) { a.TypeID = 9 }), // another enumeration of the name
		param(func(a *reader.KernelParam) { a.Err = errors.New("it cannot be read") }),
		{Err: errors.New("nothing is known")},
		{Err: errors.New("nothing else is known")},
	} {
		p := reader.Probe{
			Kind: reader.Kprobe, Kernel: k, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, Offset: uint64(i),
			Note: notes.Note{Provider: "vmlinux", Name: fmt.Sprint("f", i), Args: "-4@%edi"},
		}
		if k.Err != nil {
			p.Args = ""
		}
		plan = append(plan, site.Site{Report: site.Report{Probe: p}})
	}
	other := plan[0] // of a module, whose types have numbers of their own
	other.Probe.Provider = "ext4"
	return append(plan, other)
}

// TestKernelArguments binds functions of the kernel. Arguments are looked at if somebody asks for them;
// functions that are only counted, by their names or at all, are bound like one.
func TestKernelArguments(t *testing.T) {
	where, err := filter.Parse("n > 1")
	if err != nil {
		t.Fatal(err)
	}
	all := len(ofKernel())
	sums := func(wanted query.Computation) *Layout {
		return &Layout{Layout: query.Layout{CPUs: 2, Wanted: wanted}}
	}
	hook := func(*reader.Probe) query.Hook { return query.Hook{Type: ebpf.Kprobe, Kernel: true} }
	for name, tt := range map[string]struct {
		binder Binder
		want   int // schemas of sites that are bound
		refuse int
	}{
		"events":          {Binder{}, all, 0},
		"count":           {Binder{Aggregate: sums(query.Computation{})}, 1, 0},
		"count by probe":  {Binder{Aggregate: sums(query.Computation{By: []string{"probe"}})}, 1, 0},
		"count by func":   {Binder{Aggregate: sums(query.Computation{By: []string{"module", "func"}})}, 1, 0},
		"count by n":      {Binder{Aggregate: sums(query.Computation{By: []string{"n"}})}, all - 3, 3},
		"sum of n":        {Binder{Aggregate: sums(query.Computation{Value: "n", Functions: 1 << query.Sum})}, all - 3, 3},
		"count where":     {Binder{Aggregate: sums(query.Computation{}), Condition: where}, all - 3, 3},
		"count, recorded": {Binder{Aggregate: sums(query.Computation{}), Recorded: true}, all, 0},
		"count, --args":   {Binder{Aggregate: sums(query.Computation{}), Args: argument.Wanted{Names: []string{"n"}}}, all, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b, plan := tt.binder, ofKernel()
			b.KernelHook, b.MaxString = hook, 128
			schemas, err := All(t.Context(), plan, &b)
			if err != nil {
				t.Fatal(err)
			}
			different, refused := map[*Schema]bool{}, 0
			for i, sc := range schemas {
				if sc == nil {
					refused++
					if plan[i].Reason == nil {
						t.Errorf("%s is not bound, without a reason", plan[i].Probe.Name)
					}
					continue
				}
				different[sc] = true
			}
			if len(different) != tt.want || refused != tt.refuse {
				t.Errorf("%d schemas, and %d sites are refused, want %d and %d", len(different), refused, tt.want, tt.refuse)
			}
		})
	}
}
