package kernel

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Missed returns how often the kernel should have run a program until now and did not: the program
// was running on that CPU already, in a task that had been preempted or interrupted, or for a
// kprobe, any program was. It is 0 before Linux 5.12, which does not count, and for the part of
// kprobes before 6.7. Programs on raw tracepoints and trampolines are preemptible: on a kernel with full or
// lazy preemption most runs of a long one may be missed.
func Missed(prog *ebpf.Program) (uint64, error) {
	st, err := prog.Stats()
	if err != nil {
		return 0, fmt.Errorf("read the number of missed events: %w", err)
	}
	return st.RecursionMisses, nil
}
