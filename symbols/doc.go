// Package symbols turns addresses of code into functions, files and lines.
//
// A [Resolver] keeps what it has read of files, within a bound on memory. A [Space] is
// the code of a process, alive or recorded; [Resolver.AppendFrames] names code by the
// build-id of its file, when the process has ended.
//
// Names come from, the first that has one:
//
//   - .gopclntab of Go programs since Go 1.16, stripped or not: inlined functions,
//     files and lines included
//   - DWARF 2 to 5, for C, C++, Rust and others: inlined functions, files and lines. It
//     may be in the file or in a separate one, found by build-id or .gnu_debuglink,
//     share parts with others, as dwz does, have types in units of their own, and be
//     split (.dwo, FILE.dwp) if only root and this user can write the files
//   - symbol tables: .symtab, of the file, of its separate debug file, or in
//     .gnu_debugdata; .dynsym; the procedure linkage table
//   - perf maps and jitdump files, of code that a process generates: the JVM, Node.js,
//     CPython with its perf trampoline
//
// Files and the names in them come from others: a name may hold any bytes. A malformed
// or hostile file gives no names or wrong ones. Reading it takes time and memory in
// proportion to its size, and never panics.
package symbols
