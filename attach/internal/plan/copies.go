package plan

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/procfs"
)

// Programs that copy their code when they start, to have it in large pages, copy
// breakpoints with it. The kernel knows none of them in the copy, and ends the program by
// SIGTRAP at the first.

// largePages is a part of the names of functions that do so: Node.js's, which it calls with
// --use-largepages only, and Intel's iodlr's.
const largePages = "ToLargePages"

// copiers are parts of names of functions that copy code; a NUL is the end of a name.
var copiers = []string{
	largePages,
	"bolt_hugify",               // llvm-bolt --hugify
	"\x00hugify\x00",            // what programs of their own call it
	"hugifyText",                // HHVM
	"remapExecutable",           // ClickHouse
	"InitHugepagesAndMlockSelf", // ChromiumOS
}

// copyingLibraries copy the code of the program that has them linked or
// preloaded: Intel's iodlr and libhugetlbfs.
var copyingLibraries = []string{"liblppreload.so", "libhugetlbfs.so"}

func copying(path string) bool {
	return slices.ContainsFunc(copyingLibraries, func(name string) bool { return strings.HasPrefix(filepath.Base(path), name) })
}

// copies refuses sites in files that copy their code when they start.
func (pl *Planner) copies(s *site) {
	if pl.translates(s); s.Reason != nil {
		return
	}
	by, ok := pl.copier[s.object]
	if !ok {
		by = copierIn(s.object)
		pl.copier[s.object] = by
	}
	if s.pid != 0 {
		if by == largePages && !asksForLargePages(s.pid) {
			by = ""
		}
		if by == "" {
			if by, ok = pl.preloads[s.pid]; !ok {
				by = copierOf(s.pid)
				pl.preloads[s.pid] = by
			}
		}
	}
	if by != "" {
		s.Reason = fmt.Errorf("it has %s, which copies code to anonymous memory when a program starts, breakpoints included: the program would end by SIGTRAP: %w", strings.Trim(by, "\x00"), ErrUnsafe)
	}
}

// copierIn returns what copies an object's code, "" if nothing is known to do so.
func copierIn(o *operand.Object) string {
	for _, name := range o.ELF.Dynamic(elf.DT_NEEDED) {
		if copying(name) {
			return name
		}
	}
	for _, table := range []string{".dynstr", ".strtab"} {
		section := o.ELF.Section(table)
		if section == nil || section.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		if by := find(io.NewSectionReader(o.ELF, int64(section.Offset), int64(section.FileSize)), copiers); by != "" {
			return by
		}
	}
	return copyingCode(o)
}

// find returns the first of the words that it reads, a part at a time.
func find(r io.Reader, words []string) string {
	const overlap = 64 // longer than any word
	part := make([]byte, 1<<20)
	kept := 0
	for {
		n, err := io.ReadFull(r, part[kept:])
		text := part[:kept+n]
		for _, word := range words {
			if bytes.Contains(text, []byte(word)) {
				return word
			}
		}
		if err != nil {
			return ""
		}
		kept = copy(part, text[len(text)-overlap:])
	}
}

// asksForLargePages reports whether a process has node's option, or may have it.
func asksForLargePages(pid int) bool {
	procfs.AwaitExec(pid) // until then there is neither
	for _, file := range []string{"cmdline", "environ"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil || bytes.Contains(b, []byte("use-largepages")) {
			return true
		}
	}
	return false
}

// copierOf returns a library that a process has and that copies its program's code.
func copierOf(pid int) string {
	maps, err := procfs.Maps(pid)
	if err != nil {
		return ""
	}
	for i := range maps {
		if copying(maps[i].Path) {
			return filepath.Base(maps[i].Path)
		}
	}
	return ""
}
