package sdtdump

import (
	"fmt"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

// appendSite appends lines with the instructions at p's site: address, bytes and
// assembler text. The first line ends with remarks on the site.
func appendSite(b []byte, p *reader.Probe) []byte {
	s, err := p.Site()
	addr := p.Location + p.Delta
	about := s.Kind.String()
	if s.Optimizable {
		about += ", optimizable"
		if s.Unsafe {
			about += " but unsafe: this kernel's call overwrites what lies below the stack pointer"
		}
	}
	switch {
	case err != nil:
		about += ", " + err.Error()
	case s.State != 0:
		about += ", " + s.State.String()
	}
	insns := s.Insns
	if len(insns) == 0 {
		insns = []reader.Insn{{Bytes: s.Bytes[:min(4, len(s.Bytes))]}}
	}
	for i, insn := range insns {
		b = fmt.Appendf(b, "      %#x  % x  %s", addr, insn.Bytes, insn.Text)
		if i == 0 {
			b = printable.Append(b, "  ("+about+")")
		}
		b = append(b, '\n')
		addr += uint64(len(insn.Bytes))
	}
	return b
}
