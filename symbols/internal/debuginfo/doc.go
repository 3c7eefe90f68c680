// Package debuginfo reads which functions, inlined ones included, and which lines code
// comes from, in DWARF of versions 2 to 5. It reads what an address needs, unit by
// unit, and does not trust what it reads.
//
// The format is that of https://dwarfstd.org/dwarf5std.html, with GNU's extensions for
// parts in a file of their own, as dwz makes them:
// https://sourceware.org/elfutils/DwarfExtensions
package debuginfo
