package argasm_test

import (
	"debug/elf"
	"fmt"
	"log"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/argasm"
	"github.com/go-usdt/usdt/reader"
)

// A program that adds up the second argument of a probe.
func Example() {
	sum := func(p *reader.Probe, total *ebpf.Map) (asm.Instructions, error) {
		bytes, err := argasm.Reader{Failed: "exit"}.Arg(p, 1)
		if err != nil {
			return nil, err
		}
		ins := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)} // the context
		ins = append(ins, bytes...)
		return append(ins,
			asm.LoadMapValue(asm.R1, total.FD(), 0),
			asm.AddAtomic.Mem(asm.R1, asm.R0, asm.DWord, 0),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
			asm.Return(),
		), nil
	}
	p := &reader.Probe{Machine: 62, Class: 2} // x86-64; as package reader finds it
	p.Provider, p.Name, p.Args = "shop", "sent", "8@%rdi 4@%esi"
	total, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		log.Print(err)
		return
	}
	defer total.Close()
	ins, err := sum(p, total)
	if err != nil {
		log.Print(err)
		return
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "sum", Type: ebpf.Kprobe, License: "GPL", Instructions: ins})
	if err != nil {
		log.Print(err)
		return
	}
	defer prog.Close()
	fmt.Println(prog.Type()) // attach.AttachProbes attaches it
}

// A register of the traced program, where no argument has it.
func ExampleRegister() {
	ins, err := argasm.Register(asm.R0, asm.R6, elf.EM_X86_64, elf.ELFCLASS64, "rsp")
	if _, arm := argasm.Register(asm.R0, asm.R6, elf.EM_AARCH64, elf.ELFCLASS64, "sp"); err != nil && arm != nil {
		log.Print(err)
		return
	}
	fmt.Println("instructions:", len(ins) > 0 || runtime.GOARCH != "amd64")
	// Output: instructions: true
}
