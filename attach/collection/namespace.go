package collection

import (
	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/internal/kernel"
)

// SetPIDNamespace sets a variable of a program in C, an array of two __u64, to the device and the
// inode of this process's PID namespace, as bpf_get_ns_current_pid_tgid takes them: the program
// then finds the PIDs that this process knows. bpf_get_current_pid_tgid has the PIDs of the initial
// namespace, which name other processes in a container, or none.
func SetPIDNamespace(v *ebpf.VariableSpec) error {
	id, err := kernel.PIDNamespaceID()
	if err != nil {
		return err
	}
	return v.Set(id)
}
