package pcln

import "strings"

// Frame is a function that runs at an address.
type Frame struct {
	Func    string
	File    string
	Line    int
	Inlined bool // into the function of the next frame
}

// Indices of tables that belong to functions (internal/abi/symtab.go).
const (
	pcdataInlTreeIndex = 2
	funcdataInlTree    = 3
)

// maxInlined is the depth of inlining that is followed.
const maxInlined = 256

// Append appends the functions that run at addr to dst, the innermost first. It
// appends nothing if no function of the table holds addr.
func (t *Table) Append(dst []Frame, addr uint64) []Frame {
	fn, ok := t.find(addr)
	if !ok {
		return dst
	}
	if t.counts() {
		addr -= t.text
	}
	for range maxInlined {
		call, ok := t.inlined(&fn, addr)
		if !ok {
			break
		}
		file, line := t.line(&fn, addr)
		dst = append(dst, Frame{Func: t.name(call.name), File: file, Line: line, Inlined: true})
		addr = fn.entry + call.site
	}
	file, line := t.line(&fn, addr)
	return append(dst, Frame{Func: t.name(uint64(fn.name)), File: file, Line: line})
}

// name returns the name of the function at off. Types of generic functions are left
// out, as runtime.Frame and profiles of runtime/pprof do (runtime/symtab.go,
// funcNameForPrint): they name shapes, and are long.
func (t *Table) name(off uint64) string {
	name := text(t.names, off)
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j <= i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}

// inlinedCall is an entry of a table of inlined calls.
type inlinedCall struct {
	name uint64 // offset of the called function's name
	site uint64 // distance from the function's entry to an instruction of the caller
}

// inlined returns the innermost inlined call to which the instruction at addr, as the
// table counts, belongs. ok is false if it belongs to fn itself.
func (t *Table) inlined(fn *function, addr uint64) (call inlinedCall, ok bool) {
	if t.memory == nil {
		return call, false
	}
	tree, values := t.inlTree(fn)
	n := t.value(fn, values, addr)
	if n < 0 || tree == noTree {
		return call, false
	}
	return t.inlinedCall(t.calls+tree, n)
}

// noTree is where functions without inlined calls have their table.
const noTree = 1<<64 - 1

// inlTree returns where the table of inlined calls of fn is, from where such tables
// count, and the offset of the table of values that are its indices.
func (t *Table) inlTree(fn *function) (tree uint64, values uint32) {
	ptr, none := 4, uint64(1<<32-1)
	if !t.counts() {
		ptr, none = t.ptr, 0
	}
	at := 4 * pcdataInlTreeIndex
	if tree = t.word(from(fn.funcdata, uint64(funcdataInlTree*ptr)), ptr); tree == none || len(fn.funcdata) < (funcdataInlTree+1)*ptr || len(fn.pcdata) < at+4 {
		return noTree, 0
	}
	return tree, t.bo.Uint32(fn.pcdata[at:])
}

// inlinedCall reads entry n of the table of inlined calls at an address.
func (t *Table) inlinedCall(tree uint64, n int32) (call inlinedCall, ok bool) {
	// symtabinl.go; before Go 1.20, the file, the line and the parent were also there.
	size, name, site := 16, 4, 8
	if t.version != go120 {
		size, name, site = 20, 12, 16
	}
	var b [20]byte
	if _, err := t.memory.ReadAt(b[:size], int64(tree)+int64(n)*int64(size)); err != nil {
		return call, false
	}
	call.name, call.site = uint64(t.bo.Uint32(b[name:])), uint64(t.bo.Uint32(b[site:]))
	return call, true
}

// FrameSize returns how far the stack pointer is, at the instruction at addr, below
// where it was when the function was entered: below the return address on machines
// that keep it on the stack. top reports that the function is the outermost of its
// stack. ok is false if the table does not say, or the function changes to another
// stack, which away reports.
func (t *Table) FrameSize(addr uint64) (size uint64, top, away, ok bool) {
	fn, found := t.find(addr)
	if !found {
		return 0, false, false, false
	}
	if t.counts() {
		addr -= t.text
	}
	n := t.value(&fn, fn.sp, addr)
	away = fn.spWrite && !fn.top
	return uint64(max(n, 0)), fn.top, away, n >= 0 && !away
}
