package kernel

import (
	"fmt"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// taskOffsets returns the offsets in the kernel's struct task_struct that lead to
// the start time of a process.
var taskOffsets = sync.OnceValues(func() (o struct{ leader, start int16 }, err error) {
	types, err := Types()
	if err != nil {
		return o, err
	}
	leader, err := MemberOffset(types, "task_struct", "group_leader")
	if err != nil {
		return o, err
	}
	start, err := MemberOffset(types, "task_struct", "start_boottime")
	if err != nil {
		return o, err
	}
	o.leader, o.start = int16(leader), int16(start)
	if uint32(o.leader) != leader || uint32(o.start) != start || o.leader < 0 || o.start < 0 {
		return o, fmt.Errorf("struct task_struct is too large")
	}
	return o, nil
})

// LoadStartTime puts the start time of the current process into dst, in
// nanoseconds since the machine's. It changes R0 to R5. See [StartTimes].
func LoadStartTime(dst asm.Register) asm.Instructions {
	o, _ := taskOffsets()
	return asm.Instructions{
		asm.FnGetCurrentTaskBtf.Call(),
		asm.LoadMem(dst, asm.R0, o.leader, asm.DWord),
		asm.LoadMem(dst, dst, o.start, asm.DWord),
	}
}

// StartTimes is the feature that programs can read the start time of the kernel's
// tasks.
var StartTimes = Feature{Test: func() error {
	if _, err := taskOffsets(); err != nil {
		return ebpf.ErrNotSupported
	}
	flags := []uint32{0}
	if Sleepable.Require() == nil {
		flags = append(flags, unix.BPF_F_SLEEPABLE)
	}
	for _, f := range flags {
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Type: ebpf.Kprobe, Flags: f, License: License,
			Instructions: append(LoadStartTime(asm.R0), asm.Return()),
		})
		if err != nil {
			return Refusal(err)
		}
		prog.Close()
	}
	return nil
}}
