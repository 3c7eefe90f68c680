package kernel

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// maxAncestors is more than the ancestors that a process has.
const maxAncestors = 64

// Ancestors returns the ids of this process and of all that it descends from, as the kernel numbers
// them in the initial PID namespace, which /proc may not show. The last one is init.
func Ancestors() (ids []uint32, err error) {
	types, err := Types()
	if err != nil {
		return nil, err
	}
	parent, err := MemberOffset(types, "task_struct", "real_parent")
	if err != nil {
		return nil, err
	}
	tgid, err := MemberOffset(types, "task_struct", "tgid")
	if err != nil {
		return nil, err
	}
	for len(ids) < maxAncestors {
		code := asm.Instructions{asm.FnGetCurrentTaskBtf.Call()}
		for range ids {
			code = append(code, asm.LoadMem(asm.R0, asm.R0, int16(parent), asm.DWord))
		}
		code = append(code, asm.LoadMem(asm.R0, asm.R0, int16(tgid), asm.Word), asm.Return())
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: License, Instructions: code})
		if err != nil {
			return nil, err
		}
		id, err := prog.Run(&ebpf.RunOptions{})
		prog.Close()
		if err != nil {
			return nil, err
		}
		if ids = append(ids, id); id <= 1 {
			return ids, nil
		}
	}
	return nil, fmt.Errorf("this process has more than %d ancestors", maxAncestors)
}
