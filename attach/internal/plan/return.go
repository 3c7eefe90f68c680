package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/reader"
)

// returnAddress refuses the returns of functions that break when a return probe
// replaces their return address, and whose return instructions cannot take its place.
func (pl *Planner) returnAddress(s *site) {
	why, instead := pl.endangered(s)
	if why == "" {
		return
	}
	s.Reason = fmt.Errorf("%s: %w", why, ErrUnsafe)
	if _, err := pl.instructions(s); instead && err != nil {
		s.Reason = fmt.Errorf("%s; its return instructions cannot be traced instead: %w: %w", why, err, ErrUnsafe)
	}
}

// endangered returns why the function of the site breaks when its return address is replaced, ""
// if it does not, and whether its return instructions are returns to who calls it.
func (pl *Planner) endangered(s *site) (why string, instead bool) {
	switch fn := s.probe.Target; {
	case fn.Convention.IsGo():
		return "a return probe replaces a return address on the stack, which Go reads when it moves stacks", true
	case keepsReturn(fn):
		return "the function reads its return address, or has none, and a return probe replaces it", false
	case s.isX86() && readsReturn(s.object.BytesAt(s.Offset, int(min(cmp.Or(fn.Size, maxReading), maxReading))), s.isX86_64()):
		return "the function reads its return address, and a return probe replaces it", true
	case pl.switchesStacks(s) != "":
		return fmt.Sprintf("%s has, or imports, functions that switch stacks, as coroutines do, and a function that is left in this way would lose its return", pl.switchesStacks(s)), true
	case pl.throws(fn, s.object):
		return "an exception or panic could pass through the function, whose return address a return probe replaces, and would not be caught", true
	case pl.endsThreads(s):
		return "a thread may end in the function, by pthread_exit or pthread_cancel, and what its callers clean up then would be left, since a return probe replaces the return address", true
	}
	return "", false
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
