package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kernel"
)

// AddSignals creates the map of so many signals. User is the only user to whose processes a signal
// is sent, -1 for all.
func (m *Maps) AddSignals(times int, user int64) (err error) {
	m.Signals = &codegen.Signals{User: user}
	if m.Signals.Spared, err = kernel.Ancestors(); err != nil {
		return fmt.Errorf("find this process's ancestors, which are sent no signals: %w", err)
	}
	if m.Signals.Map, err = ebpf.NewMap(codegen.SignalsSpec(times)); err != nil {
		return fmt.Errorf("create the map of signals: %w", err)
	}
	return nil
}

// sendLooks is how often to look, a millisecond apart, until programs have sent a signal that they
// have taken. It is longer than they take.
const sendLooks = 2000

// LetGo makes programs send no more signals, and has the processes go on that they have stopped.
// The map is that of AddSignals.
func LetGo(signals *ebpf.Map) error {
	if err := signals.Put(uint32(codegen.SignalsOver), [2]uint64{}); err != nil {
		return fmt.Errorf("end signals: %w", err)
	}
	for looks := 0; looks < sendLooks; looks++ {
		var state struct {
			Left int64
			Busy uint64
		}
		if err := signals.Lookup(uint32(codegen.SignalsState), &state); err != nil || state.Busy == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	var stopped []uint32
	var pid uint32
	var value [2]uint64
	for all := signals.Iterate(); all.Next(&pid, &value); {
		if pid > codegen.SignalsOver {
			stopped = append(stopped, pid)
		}
	}
	var errs []error
	for _, pid := range stopped {
		if err := unix.Kill(int(pid), unix.SIGCONT); err != nil && err != unix.ESRCH {
			errs = append(errs, fmt.Errorf("let process %d go on: %w", pid, err))
			continue
		}
		signals.Delete(pid)
	}
	return errors.Join(errs...)
}

// LetGo is the function of that name for programs that stop processes.
func (m *Maps) LetGo(sig query.Signal) error {
	if m == nil || m.Signals == nil || m.Signals.Map == nil || !sig.Stops() {
		return nil
	}
	return LetGo(m.Signals.Map)
}
