package gate

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// linkerOf returns the dynamic linker of a process, nil if it has none, or if its code is
// translated, which would translate a breakpoint in the linker.
func linkerOf(pid int) (*procfs.Object, error) {
	if procfs.Translator(pid) != "" {
		return nil, nil
	}
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return nil, procfs.Error(pid, err)
	}
	maps, err := procfs.Maps(pid)
	if err != nil {
		return nil, err
	}
	objects := procfs.Objects(pid, maps)
	for _, word := range []int{8, 4} { // in 64-bit processes, and in others
		base := procfs.Auxiliary(auxv, word, procfs.LinkerBase)
		for _, o := range objects {
			if base != 0 && slices.ContainsFunc(o.Maps, func(m procfs.Mapping) bool { return m.Start == base }) {
				return o, nil
			}
		}
	}
	return nil, nil
}

// debugState returns the function that a dynamic linker calls for debuggers when
// it has mapped libraries, before any of their code runs (glibc: elf/rtld.c and
// elf/dl-open.c, musl: ldso/dynlink.c).
func debugState(o *procfs.Object) (*reader.Probe, error) {
	file, path, err := o.Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f, err := reader.NewFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Path, err)
	}
	for fn, err := range f.Functions() {
		if err == nil && slices.Contains(fn.Symbols, "_dl_debug_state") {
			p := fn.Entry()
			p.Path = path
			return &p, nil
		}
	}
	return nil, fmt.Errorf("the dynamic linker %s has no function _dl_debug_state: %w", o.Path, ebpf.ErrNotSupported)
}

// attachMapped attaches a program to a probe in a process. Kernels with uprobe_multi need one
// loaded for it, others one for perf events.
func attachMapped(pid int, p *reader.Probe, program func(ebpf.AttachType) *ebpf.ProgramSpec) (_ *attach.Attachment, first error) {
	for _, typ := range []ebpf.AttachType{ebpf.AttachTraceUprobeMulti, ebpf.AttachNone} {
		prog, err := ebpf.NewProgram(program(typ))
		if err == nil {
			var a *attach.Attachment
			a, err = attach.AttachProbes(prog, []reader.Probe{*p}, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{pid}}})
			prog.Close() // the link keeps the program
			if err == nil {
				return a, nil
			}
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}
