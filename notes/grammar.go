package notes

import (
	"encoding/binary"
)

// grammars is the table of architectures. To support one, this package needs a line
// here and the file with its grammar.
var grammars = [...]*grammar{
	EM_386:       &i386,
	EM_AARCH64:   &arm64,
	EM_ARM:       &arm,
	EM_LOONGARCH: &loongarch,
	EM_MIPS:      &mips,
	EM_PPC:       &ppc,
	EM_PPC64:     &ppc,
	EM_RISCV:     &riscv,
	EM_S390:      &s390x,
	EM_X86_64:    &amd64,
}

// grammar is what this package knows about an architecture: how compilers write the
// operands of a probe, and what its registers are.
type grammar struct {
	// parse decodes a.Text. Each architecture's function has its own cursor on the
	// stack: behind an indirect call for the operand alone, the cursor would escape
	// to the heap for each argument.
	parse func(g *grammar, class Class, a *Arg)

	// append appends the operand of a, which was understood, in the one form
	// that [Arg.Append] gives to each meaning.
	append func(dst []byte, a *Arg) []byte

	// register returns the register called name. word is the size of a general
	// register in bytes.
	register func(name string, word int) (r Register, ok bool)

	// next returns the general register in which compilers continue a value that is
	// too wide for r, a general register: the one with the next number. It returns ""
	// if that register cannot hold data.
	next func(r Register) string

	// site returns the kind of the site that code begins with: what assemblers make
	// of "nop", or of sys/sdt.h's _SDT_NOP where that differs. order is the byte
	// order of the object's data.
	site func(order binary.ByteOrder, code []byte) SiteKind

	// general is the size of a general register in bytes where the machine alone
	// determines it: x32 and arm64's ILP32 have registers of 8 bytes and addresses of
	// 4. It is 0 where registers are as wide as an address.
	general int

	longDouble  bool // i386: values can have 12 bytes
	relocations bool // PowerPC: a symbol can have several relocations, toc@l
}

// grammarOf returns the grammar of machine m, nil if there is none.
func grammarOf(m Machine) *grammar {
	if int(m) < len(grammars) {
		return grammars[m]
	}
	return nil
}

// word returns the size of a general register in bytes.
func (g *grammar) word(class Class) int {
	if g.general != 0 {
		return g.general
	}
	return wordSize(class)
}

// following returns the name behind names[n], empty at the end.
func following(names []string, n int) string {
	if n+1 < len(names) {
		return names[n+1]
	}
	return ""
}
