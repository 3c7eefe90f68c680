package symbols

import (
	"debug/elf"
	"fmt"
	"strings"
	"sync"

	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/internal/pcln"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/symbols/internal/debuginfo"
	"github.com/go-usdt/usdt/symbols/internal/elfsym"
)

// objectKey says which file an object is. A file that others than root and this user
// could have written is known by its place, since anybody can write a build-id into a
// file.
type objectKey struct {
	buildID string
	id      procfs.ID // zero for files that are trusted
	version int64     // of a file without a build-id: when it was changed
}

// object is an ELF file, and what names its code.
type object struct {
	resolver *Resolver
	item     *item // of the cache
	elf      *safeelf.File
	loads    []elf.ProgHeader
	buildID  string
	path     string // where it was opened
	trusted  bool   // whether to look for its debug file by its build-id
	named    bool   // whether to look beside it as well: the user named it
	// debugOnly says that it has the symbols of another file, and no code.
	debugOnly bool

	golang  func() *pcln.Table
	debug   func() *debugSymbols
	tables  func() []*elfsym.Table // of symbols, the best first
	stubs   func() *elfsym.Stubs
	closing sync.Mutex
	closers []*procfs.File

	mu        sync.Mutex
	recent    map[uint64][]Frame // by address in the file, without what differs by process
	held      int64              // bytes of recent
	told      int64              // of which the cache knows
	restorers map[uint64]bool    // whether the code at an address is one
}

func (r *Resolver) newObject(e *safeelf.File, k known) *object {
	o := &object{resolver: r, elf: e, buildID: e.BuildID(), path: k.path, trusted: k.trusted, named: k.named, recent: map[uint64][]Frame{}}
	if k.trusted {
		e.Trust()
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD {
			o.loads = append(o.loads, p)
		}
	}
	o.debugOnly = isDebugOnly(e)
	o.golang = sync.OnceValue(func() *pcln.Table {
		if o.debugOnly {
			return nil
		}
		t, err := pcln.Read(e)
		switch {
		case err != nil && t == nil:
			r.refuse(o.path, fmt.Errorf("stacks lack functions, lines and callers that no other table has: %w", err))
		case err != nil:
			r.refuse(o.path, fmt.Errorf("stacks lack inlined functions: %w", err))
		}
		o.grow(t.Size())
		return t
	})
	o.debug = sync.OnceValue(o.readDebug)
	o.tables = sync.OnceValue(o.readTables)
	o.stubs = sync.OnceValue(func() *elfsym.Stubs {
		s, _ := elfsym.NewStubs(e)
		o.grow(s.Size())
		return s
	})
	return o
}

// isDebugOnly reports whether the file's code was removed, as objcopy
// --only-keep-debug does: sections keep their place but have no contents.
func isDebugOnly(e *safeelf.File) bool {
	found := false
	for i := range e.Sections {
		if s := &e.Sections[i]; s.Flags&elf.SHF_EXECINSTR != 0 {
			if s.Type != elf.SHT_NOBITS {
				return false
			}
			found = true
		}
	}
	return found
}

func (o *object) grow(size int64) {
	if size != 0 {
		o.resolver.cache.grow(o.item, size)
	}
}

// readTables reads the tables of symbols. Malformed parts name nothing.
func (o *object) readTables() []*elfsym.Table {
	var out []*elfsym.Table
	add := func(f *safeelf.File, typ elf.SectionType) bool {
		t, _ := elfsym.New(f, typ)
		if t == nil {
			return false
		}
		o.grow(t.Size())
		out = append(out, t)
		return true
	}
	if !add(o.elf, elf.SHT_SYMTAB) {
		if d := o.debug(); d.elf != nil {
			add(d.elf, elf.SHT_SYMTAB)
		} else if inner, _ := o.elf.Debugdata(); inner != nil {
			add(inner, elf.SHT_SYMTAB)
		}
	}
	add(o.elf, elf.SHT_DYNSYM)
	return out
}

// address returns the address, as the file counts, of the byte at an offset of the
// file.
func (o *object) address(offset uint64) (addr uint64, ok bool) {
	if o.debugOnly && len(o.loads) > 0 {
		// Its segments lie elsewhere than in the file that was stripped. Linkers put
		// code at an offset that is its distance from the first segment.
		return o.loads[0].Vaddr&^0xfff + offset, true
	}
	for i := range o.loads {
		p := &o.loads[i]
		// A mapping begins with the page.
		if skip := min(p.Vaddr, p.Off) & 0xfff; p.Vaddr&0xfff == p.Off&0xfff {
			if d := offset - (p.Off - skip); d < p.Filesz+skip && p.Flags&elf.PF_X != 0 {
				return p.Vaddr - skip + d, true
			}
		} else if d := offset - p.Off; d < p.Filesz && p.Flags&elf.PF_X != 0 {
			return p.Vaddr + d, true
		}
	}
	return 0, false
}

// maxRecent is the number of addresses whose frames are kept for each object.
const maxRecent = 1 << 15

// frames returns the functions that run at an address of the file. The caller must not
// change them.
func (o *object) frames(addr uint64) []Frame {
	o.mu.Lock()
	frames, ok := o.recent[addr]
	o.mu.Unlock()
	if ok {
		return frames
	}
	frames = o.find(addr)
	size := int64(64)
	for i := range frames {
		size += 152 + int64(len(frames[i].Func)+len(frames[i].Symbol)+len(frames[i].File))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.recent) >= maxRecent {
		clear(o.recent)
		o.held = 0
	}
	o.recent[addr] = frames
	o.held += size
	// The cache is told now and then.
	if d := o.held - o.told; d >= 64<<10 || d < 0 {
		defer o.grow(d)
		o.told = o.held
	}
	return frames
}

// find finds the functions that run at addr.
func (o *object) find(addr uint64) []Frame {
	if t := o.golang(); t != nil {
		var out []Frame
		for _, f := range t.Append(nil, addr) {
			out = append(out, Frame{Func: f.Func, File: f.File, Line: f.Line, Inlined: f.Inlined})
		}
		if len(out) > 0 {
			return out
		}
	}
	out := o.fromDebug(addr)
	if len(out) == 0 {
		out = []Frame{{}}
	}
	if last := &out[len(out)-1]; last.Func == "" {
		last.name(o.symbol(addr))
	}
	return out
}

// name names the function by a symbol; what stands behind the name, of a stub, is at.
func (f *Frame) name(symbol, at string) {
	f.Func, f.Symbol = mangled.Source(symbol)+at, symbol
	if f.Func == symbol+at {
		f.Symbol = ""
	}
}

// symbol returns the symbol of the function at addr by the tables of symbols, and what stands
// behind it if the function is a stub.
func (o *object) symbol(addr uint64) (symbol, at string) {
	if symbol := o.tableSymbol(addr); symbol != "" {
		return symbol, ""
	}
	if symbol, _, ok := o.stubs().Function(addr); ok {
		return symbol, "@plt"
	}
	return "", ""
}

// tableSymbol returns the symbol of the function at addr, as the first table that has
// one has it.
func (o *object) tableSymbol(addr uint64) string {
	for _, t := range o.tables() {
		if name, _, ok := t.Function(addr); ok {
			return name
		}
	}
	return ""
}

// alias returns the symbol of the function at addr if it is a better name than that of
// debugging information: C libraries give functions names of their own, which begin with
// underscores, and then others to users (malloc is __libc_malloc there), and compilers leave
// out the symbols of some functions of C++ (and say "operator()"). It is not if it is that
// of a part or copy of a function (main.cold).
func (o *object) alias(addr uint64, f *debuginfo.Frame) string {
	symbol := o.tableSymbol(addr)
	better := strings.HasPrefix(f.Func, "_") && !strings.HasPrefix(symbol, "_") && !strings.ContainsRune(symbol, '.')
	if mangled.Is(symbol) {
		better = f.Symbol == "" && !strings.HasPrefix(symbol, f.Func+".")
	}
	if f.Func == "" || better {
		return symbol
	}
	return ""
}

// fromDebug finds the functions that run at addr in debugging information.
func (o *object) fromDebug(addr uint64) []Frame {
	d := o.debug()
	n, ok := d.info.Unit(addr)
	if !ok {
		return nil
	}
	c := o.resolver.cache
	it := c.get(cacheKey{o.item.key.object, int32(n)}, o.item, func(*item) (any, int64, error) {
		u, err := d.info.Load(n)
		if err != nil {
			o.refuse(o.path, err)
		}
		if u == nil {
			return nil, 0, err
		}
		return u, u.Size(), nil
	})
	defer c.release(it)
	u, ok := it.value.(*debuginfo.Unit)
	if !ok {
		return nil
	}
	var out []Frame
	for _, f := range u.Append(nil, addr) {
		frame := Frame{Func: f.Func, File: f.File, Line: f.Line, Inlined: f.Inlined}
		if f.Symbol != f.Func {
			frame.Symbol = f.Symbol
		}
		if !f.Inlined {
			if symbol := o.alias(addr, &f); symbol != "" {
				frame.name(symbol, "")
			}
		}
		out = append(out, frame)
	}
	return out
}

// close closes the object's files.
func (o *object) close() {
	o.closing.Lock()
	defer o.closing.Unlock()
	for _, f := range o.closers {
		f.Close()
	}
	o.closers = nil
}

// keep keeps a file open as long as the object.
func (o *object) keep(f *procfs.File) {
	o.closing.Lock()
	defer o.closing.Unlock()
	o.closers = append(o.closers, f)
}
