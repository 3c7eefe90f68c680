// Package cfi finds callers by the call frame information of ELF files, .eh_frame and
// .debug_frame. It does not trust it.
//
// The formats follow https://dwarfstd.org/dwarf5std.html, section 6.4, and
// https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/ehframechpt.html
package cfi
