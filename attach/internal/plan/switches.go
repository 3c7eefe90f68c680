package plan

import (
	"bytes"
	"debug/elf"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/library"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/stackswitch"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/reader"
)

// stackSwitches are ends of the names of functions that go on at another stack: POSIX,
// boost.context and brpc, libco, libcoro, State Threads.
var stackSwitches = []string{"swapcontext", "setcontext", "makecontext", "jump_fcontext", "ontop_fcontext", "co_switch", "coro_transfer", "st_md_cxt_restore"}

// switchless are libraries, by the beginnings of their SONAMEs, that have such functions for
// others and are not left: the C library. Libraries beyond those in unlinked switch stacks
// where few programs ask for it, and not wherever they are linked: OpenSSL in jobs of
// ASYNC_start_job, libunwind when an exception is caught, sanitizers in their interceptors.
var (
	switchless = []string{"libc.so.", "libc.musl-", "ld-musl-", "ld-linux-"}
	unlinked   = append([]string{"libcrypto.so.", "libunwind", "libasan.so.", "libtsan.so.", "libhwasan.so.", "liblsan.so."}, switchless...)
)

// switchesStacks returns the path of the file that switches stacks: the object itself, a
// library that it is linked with or, of a site in one process, any file that this has mapped;
// "" if there is none. The object's functions may then run in coroutines and be left
// meanwhile: the kernel, which expects returns in the order of calls, ends such a program or
// sends it to another one's return address.
func (pl *Planner) switchesStacks(s *site) string {
	path, known := pl.switches[s.object]
	if !known {
		if hasSwitch(s.object.ELF, s.object.Probes, switchless) {
			path = s.object.File.Name()
		} else {
			path = pl.linkedSwitch(s.object)
		}
		pl.switches[s.object] = path
	}
	if path != "" || s.pid == 0 {
		return path
	}
	if path, known = pl.switching[s.pid]; !known {
		path = pl.mappedSwitch(s.pid)
		pl.switching[s.pid] = path
	}
	return path
}

// linkedSwitch returns the path of a library with such a function with which the object is
// linked.
func (pl *Planner) linkedSwitch(obj *operand.Object) string {
	for _, path := range library.Linked(obj.File.Name())[1:] {
		f, err := procfs.OpenFile(path)
		if err != nil {
			continue
		}
		found := pl.fileSwitches(f)
		f.Close()
		if found {
			return path
		}
	}
	return ""
}

// mappedSwitch returns the path of a file with such a function that a process has mapped.
func (pl *Planner) mappedSwitch(pid int) string {
	for o, f := range mappedFiles(pid) {
		if pl.fileSwitches(f) {
			return o.Path
		}
	}
	return ""
}

// fileSwitches reports whether a file beside the object of a site has such a function.
func (pl *Planner) fileSwitches(f *procfs.File) bool {
	id, err := procfs.IDOf(f)
	if found, known := pl.switchFiles[id]; known && err == nil {
		return found
	}
	found := false
	if e, err := safeelf.NewFile(f); err == nil {
		if file, err := reader.NewFile(f); err == nil {
			found = hasSwitch(e, file, unlinked)
		}
	}
	pl.switchFiles[id] = found
	return found
}

// hasSwitch reports whether a file has, or imports, such a function, or code that does the
// same, unless it is one of those libraries.
func hasSwitch(f *safeelf.File, file *reader.File, except []string) bool {
	if isOf(f, except) {
		return false
	}
	if hasName(f, stackSwitches) {
		return true
	}
	_, found := stackswitch.Find(f, func(addr uint64) (start uint64, known, skip bool) {
		fn := file.Instruction(addr).Target
		// Go's runtime, and V8's code for WebAssembly, switch stacks where no function of C is left.
		skip = fn.Convention.IsGo() || slices.ContainsFunc(fn.Symbols, func(name string) bool { return strings.HasPrefix(name, "Builtins_") })
		return fn.Address, addr-fn.Address < fn.Size, skip
	})
	return found
}

// hasName reports whether a file has, or imports, a symbol whose name is, or ends with, one of these.
func hasName(f *safeelf.File, names []string) bool {
	const most = 64 << 20
	for _, table := range []string{".dynstr", ".strtab"} {
		s := f.Section(table)
		if s == nil {
			continue
		}
		all, err := f.Data(s, most)
		if err != nil {
			continue
		}
		for _, name := range names {
			// GNU ld writes versions behind names.
			if bytes.Contains(all, []byte(name+"\x00")) || bytes.Contains(all, []byte(name+"@")) {
				return true
			}
		}
	}
	return false
}

// isOf reports whether a file is one of those libraries.
func isOf(f *safeelf.File, libraries []string) bool {
	return slices.ContainsFunc(f.Dynamic(elf.DT_SONAME), func(name string) bool {
		return slices.ContainsFunc(libraries, func(begin string) bool { return strings.HasPrefix(name, begin) })
	})
}
