package plan

import (
	"bytes"
	"debug/elf"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/reader"
)

// thrower says through which functions of a file exceptions may pass.
type thrower uint8

const (
	throwsNever thrower = iota
	throwsMangled
	throwsAny
)

// throws reports whether an exception may pass through the function.
func (pl *Planner) throws(fn *reader.Function, obj *operand.Object) bool {
	by, known := pl.throwers[obj]
	if !known {
		by = throwerOf(obj.ELF)
		pl.throwers[obj] = by
	}
	switch {
	case by == throwsAny:
		return !slices.Contains(fn.Symbols, "main") // what gets so far is caught there, or nowhere
	case by == throwsMangled && slices.ContainsFunc(fn.Symbols, mangled.Is):
		return true
	}
	return slices.ContainsFunc(fn.Symbols, callsBack)
}

// cPersonality is what looks at the tables of C, which say what is to be done when a thread is
// cancelled, and personalities does so for languages with exceptions, or throws them.
var (
	cPersonality  = []string{"__gcc_personality_v0"}
	personalities = []string{"__gxx_personality_v0", "__gxx_personality_sj0", "rust_eh_personality", "__cxa_throw", "__gnat_personality_v0", "__gdc_personality_v0", "__objc_personality_v0", "_d_eh_personality"}
)

// throwerOf looks for tables of what is to be done when an exception passes. A file that has them
// may throw through any of its functions, whatever their language, except the C library and files
// whose tables are C's. A file
// of C++ has none if it was built without exceptions, or if it has nothing to do then: exceptions
// of other files, whose functions it imports, pass through it.
func throwerOf(f *safeelf.File) thrower {
	switch {
	case isOf(f, switchless):
		return throwsNever
	case f.Section(".gcc_except_table") != nil && (hasName(f, personalities) || !hasName(f, cPersonality)):
		return throwsAny // a stripped file does not say which language it is
	case importsThrower(f):
		return throwsMangled
	}
	return throwsNever
}

// importsThrower reports whether a file imports what throws, or functions of C++ that are not the
// standard library's.
func importsThrower(f *safeelf.File) bool {
	const most = 64 << 20
	table, strs := f.Section(".dynsym"), f.Section(".dynstr")
	if table == nil || strs == nil {
		return false
	}
	symbols, err := f.Data(table, most)
	if err != nil {
		return true
	}
	names, err := f.Data(strs, most)
	if err != nil {
		return true
	}
	size, shndx := 24, 6 // Elf64_Sym
	if f.Class == elf.ELFCLASS32 {
		size, shndx = 16, 14
	}
	for ; len(symbols) >= size; symbols = symbols[size:] {
		at := f.ByteOrder.Uint32(symbols)
		if f.ByteOrder.Uint16(symbols[shndx:]) != uint16(elf.SHN_UNDEF) || uint64(at) >= uint64(len(names)) {
			continue
		}
		text, _, _ := bytes.Cut(names[at:min(uint64(len(names)), uint64(at)+maxThrower)], []byte{0})
		name := string(text)
		standard := slices.ContainsFunc(standardNames, func(begin string) bool { return strings.HasPrefix(name, begin) })
		if mangled.Is(name) && !standard || name == "__cxa_throw" || name == "__cxa_rethrow" {
			return true
		}
	}
	return false
}

// maxThrower is more than the beginning of a name that is looked at.
const maxThrower = 32

// standardNames are beginnings of the names of namespace std, of its virtual tables and type
// information, and of new and delete.
var standardNames = []string{"_ZS", "_ZNS", "_ZNKS", "_ZTV", "_ZTI", "_ZTS", "_ZTT", "_ZN10__cxxabiv", "_ZN9__gnu_cxx", "_Zn", "_Zd"}

// callsBack reports whether a function of the C library calls functions of the program, which may
// throw.
func callsBack(name string) bool {
	switch strings.TrimSuffix(strings.TrimLeft(name, "_"), "64") {
	case "qsort", "qsort_r", "bsearch", "lfind", "lsearch", "tsearch", "tfind", "tdelete", "twalk", "twalk_r", "tdestroy",
		"ftw", "nftw", "scandir", "scandirat", "glob", "argp_parse", "pthread_once", "call_once":
		return true
	}
	return false
}
