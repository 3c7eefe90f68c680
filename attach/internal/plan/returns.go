package plan

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/returns"
	"github.com/go-usdt/usdt/reader"
)

// Returns returns what takes the place of a return probe that would harm its program, or miss
// returns: probes at the function's return instructions, which replace no return address. It
// returns nil if the probe stays as it is.
func (pl *Planner) Returns(p *reader.Probe, pid int) []reader.Probe {
	if !isFunction(p) || !isReturn(p) || p.AtRET || p.SiteErr != nil || p.Target.Resolver {
		return nil
	}
	s := &site{Decision: Decision{Path: p.Attachable(), Offset: p.Offset}, probe: p, pid: pid}
	if pl.open(s) != nil {
		return nil
	}
	if why, instead := pl.endangered(s); why != "" && !instead || why == "" && !pl.recursive(s) && !pl.unwinds(s) {
		return nil
	}
	probes, err := pl.instructions(s)
	if err != nil {
		return nil
	}
	return probes
}

// maxReturning is how many bytes of a function are searched for its return instructions.
const maxReturning = 16 << 20

// instructions returns probes at all return instructions of the function of a return probe.
func (pl *Planner) instructions(s *site) ([]reader.Probe, error) {
	fn := s.probe.Target
	switch {
	case fn.Size == 0:
		return nil, errors.New("its symbol has no size")
	case fn.Size > maxReturning:
		return nil, fmt.Errorf("it has more than %d bytes", maxReturning)
	}
	obj := s.object
	const cost = 16 // of a byte that is disassembled, see package safeelf
	if err := obj.ELF.Spend(cost * fn.Size); err != nil {
		return nil, err
	}
	f := returns.Function{
		Machine: s.probe.Machine, Class: s.probe.Class, Compiled: fn.Convention.IsGo(),
		Unreached: fn.Convention.IsGo() || obj.ELF.Section(".gcc_except_table") != nil,
		Parts:     []returns.Part{{Address: fn.Address, Code: codeAt(obj, fn.Address, fn.Size)}},
		Word: func(addr uint64) (uint64, bool) {
			b := codeAt(obj, addr, 8)
			if len(b) < 8 {
				return 0, false
			}
			return obj.ELF.ByteOrder.Uint64(b), true
		},
	}
	addrs, err := f.Find()
	var left *returns.LeaveError
	for errors.As(err, &left) {
		cold, ok := pl.coldPart(obj, fn, left.Target)
		if !ok {
			if to := obj.Probes.Instruction(left.Target).Target.Name(); left.Target != 0 && to != "" {
				err = fmt.Errorf("%w, %s", err, to)
			}
			break
		}
		f.Parts = append(f.Parts, cold)
		left = nil
		addrs, err = f.Find()
	}
	if err != nil {
		return nil, err
	}
	probes := make([]reader.Probe, len(addrs))
	for i, addr := range addrs {
		p := *s.probe
		p.AtRET, p.Location = true, addr
		if p.Offset, err = offsetOf(obj, addr); err != nil {
			return nil, err
		}
		if p.Live != nil {
			live := *p.Live
			live.Address += addr - fn.Address
			p.Live = &live
		}
		at := site{Decision: Decision{Path: s.Path, Offset: p.Offset}, probe: &p, pid: s.pid, object: obj}
		if pl.opcode(&at); at.Reason != nil {
			return nil, fmt.Errorf("at %#x, %w", addr, at.Reason)
		}
		probes[i] = p
	}
	return probes, nil
}

// offsetOf returns the offset in the file of an address.
func offsetOf(obj *operand.Object, addr uint64) (uint64, error) {
	for i := range obj.ELF.Progs {
		if p := &obj.ELF.Progs[i]; p.Type == elf.PT_LOAD && addr-p.Vaddr < p.Filesz {
			return addr - p.Vaddr + p.Off, nil
		}
	}
	return 0, fmt.Errorf("the file has nothing at %#x", addr)
}

// codeAt returns the bytes of the file at an address, fewer if it does not have them all.
func codeAt(obj *operand.Object, addr, size uint64) []byte {
	off, err := offsetOf(obj, addr)
	if err != nil {
		return nil
	}
	code := make([]byte, size)
	n, _ := obj.ELF.ReadAt(code, int64(off))
	return code[:n]
}

// cold is code that a compiler has moved out of a function, which the symbol names.
type cold struct {
	symbol     string // without ".cold" and what follows
	addr, size uint64
}

// coldPart returns the part of the function that has an address.
func (pl *Planner) coldPart(obj *operand.Object, fn *reader.Function, addr uint64) (returns.Part, bool) {
	parts, known := pl.colds[obj]
	if !known {
		parts = coldsOf(obj)
		pl.colds[obj] = parts
	}
	for _, part := range parts {
		if addr-part.addr >= part.size {
			continue
		}
		for _, s := range fn.Symbols {
			if s == part.symbol {
				return returns.Part{Address: part.addr, Code: codeAt(obj, part.addr, part.size)}, true
			}
		}
	}
	return returns.Part{}, false
}

// coldsOf returns the parts of functions in a file's symbol table.
func coldsOf(obj *operand.Object) (out []cold) {
	const most = 64 << 20
	f := obj.ELF
	table, strs := f.Section(".symtab"), f.Section(".strtab")
	if table == nil || strs == nil || f.Class != elf.ELFCLASS64 {
		return nil
	}
	symbols, err := f.Data(table, most)
	if err != nil {
		return nil
	}
	names, err := f.Data(strs, most)
	if err != nil {
		return nil
	}
	const size = 24 // of an Elf64_Sym
	for ; len(symbols) >= size; symbols = symbols[size:] {
		at := uint64(f.ByteOrder.Uint32(symbols))
		if symbols[4]&0xf != byte(elf.STT_FUNC) || at >= uint64(len(names)) {
			continue
		}
		rest := names[at:]
		i := strings.IndexByte(string(rest[:min(len(rest), maxColdName)]), 0)
		if i < 0 {
			continue
		}
		if name, _, ok := strings.Cut(string(rest[:i]), ".cold"); ok {
			out = append(out, cold{name, f.ByteOrder.Uint64(symbols[8:]), f.ByteOrder.Uint64(symbols[16:])})
		}
	}
	return out
}

// maxColdName is the length of the longest name that is compared.
const maxColdName = 4 << 10
