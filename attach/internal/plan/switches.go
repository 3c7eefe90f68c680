package plan

import (
	"bytes"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
)

// stackSwitches are ends of the names of functions that go on at another stack: POSIX,
// boost.context and brpc, libco, libcoro.
var stackSwitches = []string{"swapcontext", "setcontext", "makecontext", "jump_fcontext", "ontop_fcontext", "co_switch", "coro_transfer"}

// switchesStacks reports whether the object has, or imports, a function that switches
// stacks. Its other functions may then run in coroutines and be left meanwhile: the
// kernel, which expects returns in the order of calls, ends such a program or sends it
// to another one's return address. The C library has them for others, and is not left.
func (pl *Planner) switchesStacks(obj *operand.Object) bool {
	answer, known := pl.switches[obj]
	if !known {
		answer = hasSwitch(obj)
		if pl.switches == nil {
			pl.switches = map[*operand.Object]bool{}
		}
		pl.switches[obj] = answer
	}
	return answer
}

func hasSwitch(obj *operand.Object) bool {
	const soname, most = 14, 64 << 20 // DT_SONAME
	for _, name := range obj.ELF.Dynamic(soname) {
		if strings.HasPrefix(name, "libc.so.") || strings.HasPrefix(name, "libc.musl-") || strings.HasPrefix(name, "ld-musl-") {
			return false
		}
	}
	for _, table := range []string{".dynstr", ".strtab"} {
		s := obj.ELF.Section(table)
		if s == nil {
			continue
		}
		names, err := obj.ELF.Data(s, most)
		if err != nil {
			continue
		}
		for _, name := range stackSwitches {
			// GNU ld writes versions behind names.
			if bytes.Contains(names, []byte(name+"\x00")) || bytes.Contains(names, []byte(name+"@")) {
				return true
			}
		}
	}
	return false
}
