package plan

import (
	"bytes"
	"debug/elf"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/library"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
)

// stackSwitches are ends of the names of functions that go on at another stack: POSIX,
// boost.context and brpc, libco, libcoro.
var stackSwitches = []string{"swapcontext", "setcontext", "makecontext", "jump_fcontext", "ontop_fcontext", "co_switch", "coro_transfer"}

// switchless are libraries, by the beginnings of their SONAMEs, that have such functions for
// others and are not left: the C library. Libraries beyond those in unlinked switch stacks
// where few programs ask for it, and not wherever they are linked: OpenSSL in jobs of
// ASYNC_start_job, libunwind when an exception is caught, sanitizers in their interceptors.
var (
	switchless = []string{"libc.so.", "libc.musl-", "ld-musl-"}
	unlinked   = append([]string{"libcrypto.so.", "libunwind", "libasan.so.", "libtsan.so.", "libhwasan.so.", "liblsan.so."}, switchless...)
)

// switchesStacks returns the path of the file that has, or imports, a function that switches
// stacks: the object itself or a library that it is linked with; "" if there is none. The
// object's functions may then run in coroutines and be left meanwhile: the kernel, which
// expects returns in the order of calls, ends such a program or sends it to another one's
// return address.
func (pl *Planner) switchesStacks(obj *operand.Object) string {
	answer, known := pl.switches[obj]
	if !known {
		if hasSwitch(obj.ELF, switchless) {
			answer = obj.File.Name()
		} else {
			answer = linkedSwitch(obj)
		}
		if pl.switches == nil {
			pl.switches = map[*operand.Object]string{}
		}
		pl.switches[obj] = answer
	}
	return answer
}

// linkedSwitch returns the path of a library with such a function with which the object is
// linked.
func linkedSwitch(obj *operand.Object) string {
	for _, path := range library.Linked(obj.File.Name())[1:] {
		f, err := procfs.OpenFile(path)
		if err != nil {
			continue
		}
		e, err := safeelf.NewFile(f)
		found := err == nil && hasSwitch(e, unlinked)
		f.Close()
		if found {
			return path
		}
	}
	return ""
}

// hasSwitch reports whether a file has, or imports, such a function, unless it is one of
// those libraries.
func hasSwitch(f *safeelf.File, except []string) bool {
	const most = 64 << 20
	for _, name := range f.Dynamic(elf.DT_SONAME) {
		if slices.ContainsFunc(except, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			return false
		}
	}
	for _, table := range []string{".dynstr", ".strtab"} {
		s := f.Section(table)
		if s == nil {
			continue
		}
		names, err := f.Data(s, most)
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
