package reader_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/internal/held"
	"github.com/go-usdt/usdt/reader"
)

// describe says what is known of the arguments of a function, which attach.Find gives.
func describe(p *reader.Probe) {
	switch {
	case p.Kind.InKernel():
		fn := p.Kernel.Types()
		fmt.Println(p.Kind, p.Name, fn.Declaration)
		for _, param := range fn.Params {
			fmt.Println(" ", param.Name, param.Type, param.Size, param.Err)
		}
		if p.Kind == reader.Kretprobe {
			fmt.Println("  gone at the return:", fn.Gone)
		}
		if p.Kernel.Uncertain {
			fmt.Println("  another function has this name")
		}
	case p.Target != nil && p.Target.Typed.Known:
		fmt.Println(p.Kind, p.Name)
		for _, v := range slices.Concat(p.Target.Typed.Arguments, p.Target.Typed.Results, p.Casts) {
			fmt.Println(" ", v.Name, v.Type, "behind a pointer:", v.Behind, "bit:", v.Bit, v.Named, v.Count, v.Stride)
			if v.Bits > 0 {
				fmt.Println("    bits", v.BitsAbove, "to", v.BitsAbove+v.Bits-1)
			}
			if v.Interface {
				fmt.Println("    an interface, with the address of its file:", v.Relative)
			}
			if v.Held != nil {
				fmt.Println("    in what", v.Held.Interface, "holds")
			}
		}
	}
}

// A trampoline keeps arguments, but not every function can have one.
func ExampleProbeKind_ByTrampoline() {
	returned := func(fn *reader.KernelTypes) reader.ProbeKind {
		if fn.NoTrampoline != nil {
			fmt.Println(fn.NoTrampoline)
			return reader.Kretprobe
		}
		return reader.Fexit
	}
	for _, fn := range []*reader.KernelTypes{{Type: "vfs_read", TypeID: 4711}, {NoTrampoline: errors.New("its types are not known")}} {
		kind := returned(fn)
		fmt.Println(kind, kind.ByTrampoline())
	}
	fmt.Println(reader.Fentry, reader.Fentry.ByTrampoline())
	// Output:
	// fexit true
	// its types are not known
	// kretprobe false
	// fentry true
}

// Functions of the kernel have their arguments by its types, others by debugging information.
func ExampleParseProbeKind() {
	for _, word := range []string{"fexit", "probe"} {
		kind, ok := reader.ParseProbeKind(word)
		fmt.Println(kind == reader.Fexit, ok)
	}
	// Output:
	// true true
	// false false
}

func ExampleProbeKind_InKernel() {
	write := reader.KernelTypes{
		Declaration: "ssize_t vfs_write(struct file *file, size_t count)",
		Args:        "8@%rdi 8@%rsi",
		Params:      []reader.KernelParam{{Name: "file", Type: "struct file *", Size: 8, Pointer: true}, {Name: "count", Type: "size_t", Size: 8}},
	}
	p := reader.Probe{Kind: reader.Kprobe, Kernel: reader.NewKernelFunction(func() reader.KernelTypes { return write })}
	p.Name = "vfs_write"
	p.Kernel.Form = func() string { return "two numbers of 8 bytes" }
	describe(&p)
	fmt.Println(p.ArgsText(), "as", p.Kernel.Form())
	handle := reader.Function{Typed: &reader.Typed{
		Known:     true,
		Arguments: []reader.Variable{{Name: "req.path", Type: "char *", Kind: reader.String, Behind: true, Argument: true}, {Name: "req.level", Type: "unsigned int", Kind: reader.Uint, Size: 4, Behind: true, Bits: 5, BitsAbove: 3}},
		Results: []reader.Variable{
			{Name: "retval", Type: "mode", Kind: reader.Int, Size: 4, Named: []reader.NamedValue{{Name: "ON", Value: 7}}},
			{Name: "err", Type: "error", Kind: reader.Uint, Size: 8, Interface: true, Relative: true, Named: []reader.NamedValue{{Name: "nil"}}},
			{Name: "err.text", Type: "string", Kind: reader.String, Size: 8, Held: &held.Place{Interface: "err", Data: "err.data"}},
		},
	}}
	p = reader.Probe{Kind: reader.Uprobe, Target: &handle}
	p.Name = "handle"
	describe(&p)
	// Output:
	// kprobe vfs_write ssize_t vfs_write(struct file *file, size_t count)
	//   file struct file * 8 <nil>
	//   count size_t 8 <nil>
	// 8@%rdi 8@%rsi as two numbers of 8 bytes
	// uprobe handle
	//   req.path char * behind a pointer: true bit: 0 [] 0 0
	//   req.level unsigned int behind a pointer: true bit: 0 [] 0 0
	//     bits 3 to 7
	//   retval mode behind a pointer: false bit: 0 [{ON 7}] 0 0
	//   err error behind a pointer: false bit: 0 [{nil 0}] 0 0
	//     an interface, with the address of its file: true
	//   err.text string behind a pointer: false bit: 0 [] 0 0
	//     in what err holds
}

// A tracepoint has fields in place of arguments.
func ExampleKernelFunction() {
	p := reader.Probe{Kind: reader.Tracepoint, Kernel: &reader.KernelFunction{Fields: []reader.Variable{
		{Name: "filename", Type: "char[]", Kind: reader.String, Size: 8, Offset: 8, Follow: true},
		{Name: "pid", Type: "pid_t", Kind: reader.Int, Size: 4, Offset: 12},
	}}}
	p.Provider, p.Name = "sched", "sched_process_exec"
	for _, f := range p.Kernel.Fields {
		fmt.Printf("%v:%s:%s %s %s at %d\n", p.Kind, p.Provider, p.Name, f.Type, f.Name, f.Offset)
	}
	// Output:
	// tracepoint:sched:sched_process_exec char[] filename at 8
	// tracepoint:sched:sched_process_exec pid_t pid at 12
}

// One table answers what code asks of a kind: a new kind is a line there, and no case elsewhere.
func ExampleProbeKinds() {
	for _, k := range reader.ProbeKinds() {
		fmt.Printf("%-10v in file %-5t in kernel %-5t fields %-5t return %-5t of %-10v arguments %t\n", k, k.InFile(), k.InKernel(), k.HasFields(), k.IsReturn(), k.Entry(), k.HasArguments())
	}
	// Output:
	// usdt       in file false in kernel false fields false return false of usdt       arguments true
	// uprobe     in file true  in kernel false fields false return false of uprobe     arguments true
	// uretprobe  in file true  in kernel false fields false return true  of uprobe     arguments false
	// kprobe     in file false in kernel true  fields false return false of kprobe     arguments true
	// kretprobe  in file false in kernel true  fields false return true  of kprobe     arguments false
	// fentry     in file false in kernel true  fields false return false of fentry     arguments true
	// fexit      in file false in kernel true  fields false return true  of fentry     arguments true
	// tracepoint in file false in kernel true  fields true  return false of tracepoint arguments true
}
