package plan

import (
	"debug/elf"
	"fmt"
	"sort"

	"github.com/go-usdt/usdt/internal/procfs"
)

// writable refuses sites in code that is mapped writable, as by ld -N and packers of programs, or
// shared: the kernel puts breakpoints into private mappings that may be executed and may not be
// written to (kernel/events/uprobes.c: valid_vma), and into others none, without a word.
func (pl *Planner) writable(s *site) {
	code, written := false, true
	for i := range s.object.ELF.Progs {
		p := &s.object.ELF.Progs[i]
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && s.Offset-p.Off < p.Filesz {
			code, written = true, written && p.Flags&elf.PF_W != 0
		}
	}
	if code && written {
		s.Reason = fmt.Errorf("the file has the site in a writable segment, into which the kernel puts no breakpoints: %w", ErrSilent)
		return
	}
	if s.pid == 0 || s.probe.Live == nil {
		return
	}
	all, known := pl.mappings[s.pid]
	if !known {
		all, _ = procfs.Maps(s.pid)
		pl.mappings[s.pid] = all
	}
	at := s.probe.Live.Address
	i := sort.Search(len(all), func(i int) bool { return all[i].End > at })
	if i == len(all) || at < all[i].Start {
		return
	}
	how := ""
	switch m := &all[i]; {
	case m.Shared:
		how = "shared"
	case m.Write:
		how = "writable"
	default:
		return
	}
	s.Reason = fmt.Errorf("process %d has mapped the site %s, and the kernel puts no breakpoints there: %w", s.pid, how, ErrSilent)
}
