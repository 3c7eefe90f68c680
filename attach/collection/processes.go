package collection

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/privilege"
)

// gplCompatible are the licenses of programs that may call the helpers by which a
// process is looked up, see include/linux/license.h.
var gplCompatible = []string{"GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"}

// shareLinks makes programs whose sections name what to attach to look up the
// process, if there are many, so that one link serves all processes.
func (c *Collection) shareLinks(spec *ebpf.CollectionSpec, pids []int) error {
	if len(pids) <= site.ManyProcesses {
		return nil
	}
	procs, err := process.Hold(pids)
	if err != nil {
		return err
	}
	defer procs.Close()
	for name, p := range c.programs {
		own := spec.Programs[name]
		if p.section.ofKernel() || p.section.selector == "" || !slices.Contains(gplCompatible, own.License) {
			continue
		}
		if c.processes == nil {
			if c.processes, err = process.NewTable(procs, len(procs.PIDs)); err != nil {
				return privilege.Explain("prepare tracing", err)
			}
		}
		p.pids = pids
		own.Instructions = kernel.InFront(ifProcess(c.processes, p.section.session), own.Instructions)
	}
	return nil
}

// ifProcess returns instructions that end a program in processes that are not in
// the table. A session program then does not run when the function returns,
// either.
func ifProcess(table *ebpf.Map, session bool) asm.Instructions {
	result := int32(0)
	if session {
		result = 1
	}
	const (
		slot  = -8 // of the stack, before the program has used it
		other = "usdt_other_process"
	)
	code := append(asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}, kernel.OwnPIDNamespace().Load(slot)...)
	code = append(code, asm.RSh.Imm(asm.R0, 32))
	code = append(code, process.InTable(table, kernel.StartTimes.Require() == nil, slot, other)...)
	return append(code,
		asm.Mov.Reg(asm.R1, asm.R6),
		kernel.Over(asm.Ja.Label(""), 2),
		asm.Mov.Imm(asm.R0, result).WithSymbol(other),
		asm.Return(),
	)
}

// serves returns an error if the program does nothing in one of the processes; no
// PIDs mean all processes.
func (p *program) serves(pids []int) error {
	if p.pids == nil {
		return nil
	}
	if len(pids) == 0 {
		return fmt.Errorf("the program was loaded for %d processes, and is to be attached to all: load it without Target.PIDs", len(p.pids))
	}
	for _, pid := range pids {
		if !slices.Contains(p.pids, pid) {
			return fmt.Errorf("the program was loaded for %d processes, and %d is not one of them: load it without Target.PIDs", len(p.pids), pid)
		}
	}
	return nil
}

// shares reports whether links of the program may see processes other than pids,
// since the program looks up the process itself.
func (p *program) shares(pids []int) bool {
	if len(pids) != len(p.pids) {
		return false
	}
	for _, pid := range p.pids {
		if !slices.Contains(pids, pid) {
			return false
		}
	}
	return true
}

// dropEnded removes processes from the table when they end, so that a process
// that gets the PID later is not taken for one of them. wait waits, after the end
// of ctx, until dropEnded has stopped.
func (c *Collection) dropEnded(ctx context.Context, t *target) (wait func()) {
	var watches sync.WaitGroup
	if t.sharing != nil {
		for _, pid := range t.procs.PIDs {
			watches.Go(func() {
				if t.procs.Wait(ctx, pid) == nil {
					c.processes.Delete(uint32(pid))
				}
			})
		}
	}
	return watches.Wait
}
