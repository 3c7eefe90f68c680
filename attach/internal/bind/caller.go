package bind

import (
	"bytes"
	"debug/elf"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// caller is where a site's function has its return address, if frame pointers may not lead there.
type caller struct {
	known bool
	alone bool // the kernel does not find it
	symbols.Caller
}

// callerOf returns where the return address is at the site. The kernel follows frame pointers
// only, and misses the caller of a function that has no frame.
func (b *Binder) callerOf(s *site.Site) caller {
	p := &s.Probe
	switch {
	case b.Stack == 0 || b.Unwind || s.Local || s.Saved != nil || s.Recorded.Kept || p.Kind.IsReturn() && !p.AtRET:
		return caller{}
	case p.Kind.InFile() && p.Displacement() == 0, p.AtRET:
		return caller{true, !b.kernelFinds(s), symbols.Caller{Link: p.Machine == elf.EM_AARCH64}}
	case p.Type != nil && p.Type.Record.Flags&notes.GoroutineRegister != 0:
		return caller{} // a frame of package provider's, which is left out
	}
	tables, ok := b.callers[s.Path]
	if !ok {
		if obj, err := b.Objects.Open(s.Path); err == nil {
			tables, _ = symbols.NewCallers(obj.File)
		}
		if b.callers == nil {
			b.callers = map[string]*symbols.Callers{}
		}
		b.callers[s.Path] = tables
	}
	if tables == nil {
		return caller{}
	}
	at, ok := tables.At(p.Location + p.Delta + s.Offset - p.Offset)
	return caller{ok, p.Kind == reader.USDT || !b.kernelFinds(s), at}
}

// kernelFinds reports whether the kernel's stacks may have the caller of the function at whose
// entry the site is: where its first instruction is push %rbp or endbr64, which
// arch/x86/events/core.c takes for an entry (is_uprobe_at_func_entry; Linux 6.11 and later, and
// stable releases of earlier ones).
func (b *Binder) kernelFinds(s *site.Site) bool {
	if s.Probe.Machine == elf.EM_AARCH64 {
		return false
	}
	obj, err := b.Objects.Open(s.Path)
	if err != nil {
		return true
	}
	code := obj.BytesAt(s.Offset, 4)
	return bytes.HasPrefix(code, []byte{0x55}) || bytes.Equal(code, []byte{0xf3, 0x0f, 0x1e, 0xfa})
}

// read makes programs read the return address, unless the function has a frame.
func (c caller) read(sig *query.Signature, p *reader.Probe, regs *operand.Registers) {
	if sig.Stack.Entry = c.known; !c.known {
		return
	}
	sig.Alone = c.alone
	sp, fp, size := regs.ByName["rsp"], regs.ByName["rbp"], uint8(8)
	switch {
	case p.Machine == elf.EM_AARCH64:
		sp, fp = regs.ByName["sp"], regs.ByName["x29"]
	case p.Class == elf.ELFCLASS32:
		sp, size = regs.ByName["esp"], 4
	}
	sig.Return = operand.Operand{Kind: operand.Memory, Size: size, HasBase: true, Base: operand.Location{Off: sp, Size: size}, Disp: c.At}
	if c.Link {
		sig.Return = operand.Operand{Kind: operand.Register, Size: 8, HasBase: true, Base: operand.Location{Off: regs.ByName["x30"], Size: 8}}
	}
	if c.Saves {
		sig.FramePointer, sig.Frame = operand.Location{Off: fp, Size: 8}, operand.Operand{Kind: operand.Address, Size: 8, HasBase: true, Base: operand.Location{Off: sp, Size: 8}, Disp: c.SaveAt}
	}
}
