package load

import (
	"fmt"
	"time"

	"github.com/cilium/ebpf"
)

// Runs are the kernel's statistics of programs.
type Runs struct {
	Missed uint64 // runs that the kernel has suppressed
	Cost   struct {
		Runs uint64
		Time time.Duration // that they took
	}
}

// add adds the runs of a program.
func (r *Runs) add(prog *ebpf.Program) error {
	st, err := prog.Stats()
	if err != nil {
		return fmt.Errorf("read the number of missed events: %w", err)
	}
	r.Missed += st.RecursionMisses
	r.Cost.Runs += st.RunCount
	r.Cost.Time += st.Runtime
	return nil
}
