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
// events show: in names, types, sizes and errors of arguments, and in what is known of them at all. asked
// counts the functions of which somebody has asked for that.
func ofKernel(asked *int) (plan site.Plan) {
	param := func(change func(a *reader.KernelParam)) reader.KernelTypes {
		a := reader.KernelParam{Name: "n", Type: "int", TypeID: 7, Size: 4, Signed: true}
		change(&a)
		return reader.KernelTypes{Args: "-4@%edi", Params: []reader.KernelParam{a}}
	}
	for i, k := range []reader.KernelTypes{
		param(func(*reader.KernelParam) {}),
		param(func(a *reader.KernelParam) { a.Name = "m" }),
		param(func(a *reader.KernelParam) { a.TypeID, a.Type = 8, "unsigned int" }),
		param(func(a *reader.KernelParam) { a.TypeID = 9 }), // another enumeration of the name
		param(func(a *reader.KernelParam) { a.Err = errors.New("it cannot be read") }),
		{Err: errors.New("nothing is known")},
		{Err: errors.New("nothing else is known")},
	} {
		p := reader.Probe{
			Kind: reader.Kprobe, Kernel: reader.NewKernelFunction(func() reader.KernelTypes { *asked++; return k }), Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, Offset: uint64(i),
			Note: notes.Note{Provider: "vmlinux", Name: fmt.Sprint("f", i)},
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
	all := len(ofKernel(new(int)))
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
			asked := 0
			b, plan := tt.binder, ofKernel(&asked)
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
			if tt.want == 1 && asked > 0 {
				t.Errorf("the types of %d functions were asked for, which nothing needs", asked)
			}
		})
	}
}

// TestKernelLayouts binds functions of the kernel for events. Functions share a program
// if it records the same number of registers for each, whatever the registers hold. Text needs another one.
func TestKernelLayouts(t *testing.T) {
	var plan site.Plan
	for i, k := range []reader.KernelTypes{
		{Args: "-4@%rdi 8@%rsi", Params: []reader.KernelParam{{Name: "fd", Type: "int", Size: 4, Signed: true}, {Name: "n", Type: "size_t", Size: 8}}},
		{Args: "8@%rdi 1@%rsi", Params: []reader.KernelParam{{Name: "file", Type: "struct file *", Size: 8, Pointer: true}, {Name: "wait", Type: "bool", Size: 1, Bool: true}}},
		{Args: "2@%rdi -8@%rsi", Params: []reader.KernelParam{{Name: "port", Type: "u16", Size: 2}, {Name: "off", Type: "loff_t", Size: 8, Signed: true}}},
		{Args: "8@%rdi", Params: []reader.KernelParam{{Name: "file", Type: "struct file *", Size: 8, Pointer: true}}},
		{Args: "8@%rdi 8@%rsi", Params: []reader.KernelParam{{Name: "file", Type: "struct file *", Size: 8, Pointer: true}, {Name: "name", Type: "char *", Size: 8, Pointer: true, Text: true}}},
	} {
		plan = append(plan, site.Site{Report: site.Report{Probe: reader.Probe{
			Kind: reader.Kprobe, Kernel: reader.NewKernelFunction(func() reader.KernelTypes { return k }), Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, Offset: uint64(i),
			Note: notes.Note{Provider: "vmlinux", Name: fmt.Sprint("f", i)},
		}}})
	}
	text, err := ParseStrings([]string{"name"})
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := All(t.Context(), plan, &Binder{
		KernelHook: func(*reader.Probe) query.Hook { return query.Hook{Type: ebpf.Kprobe, Kernel: true} }, MaxString: 128, Strings: text, Args: argument.Wanted{All: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range schemas {
		for j := range i {
			if same, want := schemas[i].Sig == schemas[j].Sig, i < 3; same != want {
				t.Errorf("%d and %d share a program: %v, want %v", j, i, same, want)
			}
		}
	}
	if f := schemas[1].Fields[1]; f.Name != "wait" || f.Size != 1 || f.Kind != reader.Bool {
		t.Errorf("the field %+v, want wait, a bool of a byte", f)
	}
}

// TestKernelLater binds functions of the kernel for events of all arguments. Functions of one form share what
// programs read; the later ones are described when somebody decodes their records, and then have the fields
// that they have if each is bound by itself.
func TestKernelLater(t *testing.T) {
	asked := map[string]int{}
	plan := func(forms bool) (plan site.Plan) {
		for i, f := range []struct {
			form string
			reader.KernelTypes
		}{
			{"a", reader.KernelTypes{Args: "-4@%rdi 8@%rsi", Params: []reader.KernelParam{{Name: "fd", Type: "int", Size: 4, Signed: true}, {Name: "n", Type: "size_t", Size: 8}}}},
			{"a", reader.KernelTypes{Args: "-4@%rdi 8@%rsi", Params: []reader.KernelParam{{Name: "mode", Type: "int", Size: 4, Signed: true}, {Name: "len", Type: "u64", Size: 8}}}},
			{"b", reader.KernelTypes{Args: "8@%rdi", Params: []reader.KernelParam{{Name: "file", Type: "struct file *", Size: 8, Pointer: true}}}},
			{"", reader.KernelTypes{Err: errors.New("nothing is known")}},
		} {
			name := fmt.Sprint("f", i)
			k := reader.NewKernelFunction(func() reader.KernelTypes { asked[name]++; return f.KernelTypes })
			if forms {
				k.Form = func() string { return f.form }
			}
			plan = append(plan, site.Site{Report: site.Report{Probe: reader.Probe{
				Kind: reader.Kprobe, Kernel: k, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, Offset: uint64(i),
				Note: notes.Note{Provider: "vmlinux", Name: name},
			}}})
		}
		return plan
	}
	where, err := filter.Parse("len > 1")
	if err != nil {
		t.Fatal(err)
	}
	hook := func(*reader.Probe) query.Hook { return query.Hook{Type: ebpf.Kprobe, Kernel: true} }
	bound := func(forms bool, b Binder) []*Schema {
		b.KernelHook, b.MaxString, b.Args.All = hook, 128, true
		schemas, err := All(t.Context(), plan(forms), &b)
		if err != nil {
			t.Fatal(err)
		}
		return schemas
	}
	each, later := bound(false, Binder{}), []*Schema(nil)
	clear(asked)
	later = bound(true, Binder{})
	if asked["f0"] != 1 || asked["f1"] != 0 {
		t.Errorf("asked for the types of %v, want the types of the first function of each form", asked)
	}
	if later[0].Sig != later[1].Sig || later[0].Sig == later[2].Sig {
		t.Error("functions of one form, or of two, have the wrong program")
	}
	for i, sc := range later {
		full := sc.WithFields()
		if got, want := fmt.Sprintf("%+v %v %v", full.Fields, full.Places, full.Layout), fmt.Sprintf("%+v %v %v", each[i].Fields, each[i].Places, each[i].Layout); got != want {
			t.Errorf("site %d: got %s, want %s", i, got, want)
		}
		if full.Sig != sc.Sig || sc.WithFields() != full {
			t.Errorf("site %d: its signature is another, or it is bound twice", i)
		}
	}
	if asked["f1"] != 1 {
		t.Errorf("asked %d times for the types of the second of a form", asked["f1"])
	}
	// A snapshot's condition, which was not known when sites were bound.
	if _, err := Tested(where, bound(true, Binder{})[1], &plan(true)[1].Probe); err != nil {
		t.Errorf("a condition on the second function of a form: %v", err)
	}
	clear(asked)
	if schemas := bound(true, Binder{Condition: where}); schemas[0] != nil || schemas[1] == nil || asked["f1"] != 1 {
		t.Errorf("with a condition: %v, asked %v, want the second function alone", schemas, asked)
	}
}
