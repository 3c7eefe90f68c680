package attach

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/reader"
)

// planFunction refuses functions that cannot be probed, or only to their
// program's harm.
func (pl *planner) planFunction(s *Site, obj *operand.Object) {
	fn := s.Probe.Target
	switch {
	case fn == nil:
	case fn.Resolver:
		s.Reason = fmt.Errorf("the symbol is of a resolver (IFUNC), which is called once to choose the function: select what it chooses: %w", ErrSilent)
	case s.Probe.Kind != reader.Uretprobe:
	case fn.Convention.IsGo():
		s.Reason = fmt.Errorf("a return probe replaces a return address on the stack, where Go looks for them when it moves stacks: %w", ErrUnsafe)
	case keepsReturn(fn):
		s.Reason = fmt.Errorf("the function looks at its return address, or has none, and a return probe replaces it: %w", ErrUnsafe)
	case throws(fn, obj):
		s.Reason = fmt.Errorf("an exception or panic could pass through the function, whose return address a return probe replaces, and would not be caught: %w", ErrUnsafe)
	}
}

// throws reports whether an exception may pass through the function: its
// language has them, and its object tables to handle them.
func throws(fn *reader.Function, obj *operand.Object) bool {
	mangled := func(s string) bool { return strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R") }
	return slices.ContainsFunc(fn.Symbols, mangled) && obj.ELF.Section(".gcc_except_table") != nil
}

// keepsReturn reports whether the function is one of those that look at their
// return address, or store it for a later jump there, or that are not called.
func keepsReturn(fn *reader.Function) bool {
	return slices.ContainsFunc(fn.Symbols, func(s string) bool {
		switch strings.TrimLeft(s, "_") {
		case "setjmp", "sigsetjmp", "getcontext", "swapcontext":
			return true
		case "cxa_throw", "cxa_rethrow", "rust_start_panic": // through which every exception passes
			return true
		case "start":
			return s == "_start"
		}
		// What i386's position-independent code calls to know where it is.
		if strings.Contains(s, ".get_pc_thunk.") {
			return true
		}
		return strings.HasPrefix(s, "_dl_runtime_resolve") || strings.HasPrefix(s, "_dl_tlsdesc_") || strings.HasPrefix(s, "_Unwind_")
	})
}

// Why the kernel refuses instructions: arch/x86/kernel/uprobes.c, is_prefix_bad
// and good_insns_64. It looks vector instructions' opcodes up in the table of
// one-byte ones, so that a vmovd is taken for port output.
var (
	errPrefix = errors.New("the kernel cannot probe an instruction with a lock or segment prefix")
	errVector = errors.New("the kernel cannot probe this vector instruction")
)

// planEntry refuses instructions at the entry of a function that the kernel
// would refuse, which it does not say while no process runs the file.
func (pl *planner) planEntry(s *Site, code []byte, is64 bool) {
	i := 0
	for i < len(code) && isPrefix(code[i]) && (is64 || code[i]&0xf0 != 0x40) {
		i++
	}
	if i == len(code) {
		return
	}
	size := 1
	switch c := code[i]; {
	case c == 0x26 || c == 0x2e || c == 0x36 || c == 0x3e || c == 0xf0: // %es, %cs, %ss, %ds, lock
		s.Reason = errPrefix
		return
	case c == 0x0f:
		size = 2
	case is64 && c == 0xc5: // VEX
		size = 3
	case is64 && c == 0xc4:
		size = 4
	case is64 && c == 0x62: // EVEX
		size = 5
	}
	if len(code) < i+size {
		return
	}
	s.opcode = string(code[:i+size])
	if size > 2 && pl.refuses(s.opcode, code) {
		s.Reason = errVector
	}
}
