package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/reader"
)

// returnAddress refuses the returns of functions that break when a return probe
// replaces their return address.
func (pl *Planner) returnAddress(s *site) {
	switch fn := s.probe.Target; {
	case fn.Convention.IsGo():
		s.Reason = fmt.Errorf("a return probe replaces a return address on the stack, which Go reads when it moves stacks: %w", ErrUnsafe)
	case keepsReturn(fn), s.isX86() && readsReturn(s.object.BytesAt(s.Offset, int(min(cmp.Or(fn.Size, maxReading), maxReading))), s.isX86_64()):
		s.Reason = fmt.Errorf("the function reads its return address, or has none, and a return probe replaces it: %w", ErrUnsafe)
	case pl.switchesStacks(s) != "":
		s.Reason = fmt.Errorf("%s has, or imports, functions that switch stacks, as coroutines do, and a function that is left in this way would lose its return: %w", pl.switchesStacks(s), ErrUnsafe)
	case throws(fn, s.object):
		s.Reason = fmt.Errorf("an exception or panic could pass through the function, whose return address a return probe replaces, and would not be caught: %w", ErrUnsafe)
	}
}

// throws reports whether an exception may pass through the function: its
// language has exceptions, and its object has tables to handle them.
func throws(fn *reader.Function, obj *operand.Object) bool {
	mangled := func(s string) bool { return strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R") }
	return slices.ContainsFunc(fn.Symbols, mangled) && obj.ELF.Section(".gcc_except_table") != nil
}

// keepsReturn reports whether the function looks at its return address, stores it for a later
// jump there, or is not called.
func keepsReturn(fn *reader.Function) bool {
	return slices.ContainsFunc(fn.Symbols, func(s string) bool {
		switch strings.TrimLeft(s, "_") {
		case "setjmp", "sigsetjmp", "getcontext", "swapcontext", "setcontext", "start_context", "co_switch", "coro_transfer":
			return true
		case "dlsym", "dlvsym", "dlopen", "dlmopen", "mcount", "fentry", "fentry__", "backtrace": // see readsReturn
			return true
		case "cxa_throw", "cxa_rethrow", "rust_start_panic": // through which every exception passes
			return true
		case "start":
			return s == "_start"
		}
		if strings.HasSuffix(s, "jump_fcontext") || strings.HasSuffix(s, "ontop_fcontext") {
			return true
		}
		// Position-independent code of i386 calls it to learn its own address.
		if strings.Contains(s, ".get_pc_thunk.") {
			return true
		}
		return strings.HasPrefix(s, "_dl_runtime_resolve") || strings.HasPrefix(s, "_dl_tlsdesc_") || strings.HasPrefix(s, "_Unwind_")
	})
}
