package gate

import (
	"debug/elf"
	"encoding/binary"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Startup is the work of the dynamic linker in a process that has executed a program
// and run nothing of it. The linker calls Ready, which debuggers use, once or twice: in
// glibc (elf/rtld.c, dl_main) before it maps libraries, and again when it has relocated
// all and protected RELRO, before constructors run; in musl (ldso/dynlink.c, __dls3) only
// the latter. Resolvers of IFUNCs run while libraries are relocated, before that.
type Startup struct {
	Ready *reader.Probe // nil without a dynamic linker
	pid   int
	state uint64 // where r_debug.r_state is; 0 if that is not known
}

// StartupOf returns the startup of a process that stands still behind its exec.
func StartupOf(pid int) (*Startup, error) {
	s := &Startup{pid: pid}
	o, err := linkerOf(pid)
	if o == nil || err != nil {
		return s, err
	}
	if s.Ready, err = debugState(o); err != nil {
		return s, err
	}
	file, _, err := o.Open()
	if err != nil {
		return s, err
	}
	defer file.Close()
	f, err := reader.NewFile(file)
	if err != nil {
		return s, err
	}
	// musl's has no name, and needs none.
	if addr, err := f.Resolve(&notes.Arg{Symbol: "_r_debug"}); err == nil {
		offset := uint64(24) // r_version, r_map and r_brk come before, glibc's elf/link.h
		if s.Ready.Class == elf.ELFCLASS32 {
			offset = 12
		}
		s.state = o.Maps[0].Start + addr + offset
	}
	return s, nil
}

// Loading reports whether the process has stopped at Ready before libraries were
// mapped.
func (s *Startup) Loading() bool {
	const add = 1 // RT_ADD
	var state [4]byte
	return s.state != 0 && procfs.ReadMemory(s.pid, s.state, state[:]) == nil && binary.NativeEndian.Uint32(state[:]) == add
}
