package load

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/kernel"
)

// AddThen has a program run behind each record. The programs that write records have these types.
func (m *Maps) AddThen(prog *ebpf.Program, typ ebpf.ProgramType, at ebpf.AttachType) (err error) {
	if m.Then, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_then", Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}); err != nil {
		return fmt.Errorf("create the map of a program: %w", err)
	}
	if err := m.Then.Put(uint32(0), prog); err != nil {
		return fmt.Errorf("put a program into a map: %w", err)
	}
	// Only programs like the first one in the map may refer to it.
	ins := append(kernel.TailCall(asm.R1, m.Then), asm.Mov.Imm(asm.R0, 0), asm.Return())
	like, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: typ, AttachType: at, License: kernel.License, Instructions: ins})
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("the kernel does not let programs of attach type %v go on with it: it has another one, or may sleep: %w", at, err)
	}
	if err != nil {
		return fmt.Errorf("load a program that goes on with another: %w", err)
	}
	return like.Close()
}
