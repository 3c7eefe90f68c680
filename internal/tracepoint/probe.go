package tracepoint

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Probe returns a tracepoint as a probe. SiteErr says why no program can be attached to it.
func (e *Events) Probe(system, event string) reader.Probe {
	p := reader.Probe{
		Note:    notes.Note{Provider: system, Name: event},
		Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, ByteOrder: binary.LittleEndian, Kind: reader.Tracepoint,
		Kernel: &reader.KernelFunction{},
	}
	if runtime.GOARCH == "arm64" {
		p.Machine = elf.EM_AARCH64
	}
	id, err := e.id(system, event)
	if err != nil {
		p.SiteErr = err
		return p
	}
	p.Location, p.Offset = id, id
	b, err := e.format(system, event)
	if err == nil {
		p.Kernel.Fields, err = Parse(b, system)
	}
	if err != nil {
		if !errors.Is(err, ErrFormat) {
			err = fmt.Errorf("its format cannot be read: %w", err)
		}
		p.SiteErr, p.Kernel.Err = err, err
		return p
	}
	if slices.ContainsFunc(p.Kernel.Fields, func(f reader.Variable) bool { return strings.HasPrefix(f.Name, "__probe_") }) {
		p.SiteErr = errors.New("it is a probe that somebody has made in tracefs: trace its function by a selector such as kprobe:FUNC")
	}
	return p
}

// often are the systems whose events fire all the time, or while a program runs.
var often = []string{"bpf_trace", "context_tracking", "lock", "preemptirq", "rcu"}

// Often reports whether the events of a system fire so often, or where programs run themselves, that a
// pattern must not select the system.
func Often(system string) bool { return slices.Contains(often, system) }

// End returns where the record of fields ends, without what is behind its fixed part.
func End(fields []reader.Variable) (end int) {
	for i := range fields {
		f := &fields[i]
		size := f.Size
		switch {
		case f.Follow:
			size = 4
		case f.Memory:
			size = f.Count * max(1, f.Stride)
		}
		end = max(end, int(f.Offset)+size)
	}
	return end
}

// Shown reports whether a field is shown unless it is asked for: not the number of a system call, whose name
// the event has, nor the length of another one.
func Shown(f *reader.Variable) bool {
	return f.Name != "__syscall_nr" && !strings.HasPrefix(f.Name, "len(")
}
