package plan

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/safeelf"
)

// sequence is a restartable sequence, by its addresses: the kernel starts it again if it has
// interrupted it.
type sequence struct{ start, end uint64 }

// sequences refuses sites in restartable sequences (rseq). The kernel looks there where the
// thread was when it was interrupted, which is in the kernel's copy of the instruction while
// that is executed: it takes the sequence for one that the thread has left, and lets it go
// on, on another processor or after another thread has run the same sequence (kernel/rseq.c:
// rseq_ip_fixup). The kernel emulates a nop of one byte, so that the thread never leaves the
// sequence.
func (pl *Planner) sequences(s *site) {
	all, ok := pl.restartable[s.object]
	if !ok {
		all = sequencesIn(s.object)
		pl.restartable[s.object] = all
	}
	if len(all) == 0 || s.isX86() && startsWithNop(s.object.BytesAt(s.Offset, 1)) {
		return
	}
	after, _ := slices.BinarySearchFunc(all, s.Offset, func(q sequence, offset uint64) int {
		if q.start <= offset {
			return -1
		}
		return 1
	})
	if after > 0 && s.Offset < all[after-1].end {
		s.Reason = fmt.Errorf("the site is in a restartable sequence (rseq), which the kernel would not start again after it has interrupted the probed instruction: %w", ErrUnsafe)
	}
}

func startsWithNop(code []byte) bool { return len(code) > 0 && code[0] == nop1[0] }

// sequenceSize is the size of struct rseq_cs, include/uapi/linux/rseq.h: version and flags of 32
// bits, start_ip, post_commit_offset and abort_ip of 64.
const sequenceSize = 32

// sequencesIn returns the restartable sequences of an object by their offsets in the file, ascending
// and without overlaps. Librseq and tcmalloc describe theirs in a section of this name, and so does
// what has taken its macros from the kernel's selftests.
func sequencesIn(o *operand.Object) (all []sequence) {
	f := o.ELF
	s := f.Section("__rseq_cs")
	if s == nil {
		return nil
	}
	const most = 16 << 20
	data, err := f.Data(s, most)
	if err != nil {
		return nil
	}
	moved := movedIn(f, s)
	for at := s.Addr; len(data) >= sequenceSize; at, data = at+sequenceSize, data[sequenceSize:] {
		start, size := f.ByteOrder.Uint64(data[8:]), f.ByteOrder.Uint64(data[16:])
		if addr, ok := moved[at+8]; ok {
			start = addr
		}
		if p := segmentOf(f, start); p != nil && size <= p.Filesz {
			start += p.Off - p.Vaddr
			all = append(all, sequence{start, start + size})
		}
	}
	slices.SortFunc(all, func(a, b sequence) int { return cmp.Compare(a.start, b.start) })
	joined := all[:0]
	for _, q := range all {
		if n := len(joined); n > 0 && q.start <= joined[n-1].end {
			joined[n-1].end = max(joined[n-1].end, q.end)
			continue
		}
		joined = append(joined, q)
	}
	return joined
}

// segmentOf returns the segment that holds code at an address, nil if none does.
func segmentOf(f *safeelf.File, addr uint64) *elf.ProgHeader {
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return p
		}
	}
	return nil
}

// movedIn returns the addresses that the dynamic linker puts into words of a section, before it
// adds where the object is: where relocations are not packed, linkers may leave the words empty.
func movedIn(f *safeelf.File, in *elf.SectionHeader) map[uint64]uint64 {
	const most, size = 64 << 20, 24
	relative := uint64(elf.R_X86_64_RELATIVE)
	if f.Machine == elf.EM_AARCH64 {
		relative = uint64(elf.R_AARCH64_RELATIVE)
	}
	moved := map[uint64]uint64{}
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 || f.Class != elf.ELFCLASS64 {
			continue
		}
		data, err := f.Data(s, most)
		if err != nil {
			continue
		}
		for ; len(data) >= size; data = data[size:] {
			at := f.ByteOrder.Uint64(data)
			if at-in.Addr < in.Size && f.ByteOrder.Uint64(data[8:]) == relative {
				moved[at] = f.ByteOrder.Uint64(data[16:])
			}
		}
	}
	return moved
}
