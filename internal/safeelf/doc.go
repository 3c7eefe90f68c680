// Package safeelf reads the headers and sections of untrusted ELF files.
//
// It reads only what is requested: the headers when a file is opened, a section when
// its data is needed. It checks every length against the file and against a limit
// before it allocates memory, so that neither a sparse file of gigabytes nor a header
// that lies costs more than an error. All reading of a file shares one budget, which
// follows from the file's size, so that sections that overlap, repeat or unpack to
// more than their size cannot make much of little.
//
// The layout is that of the System V ABI:
// https://gabi.xinuos.com/elf/
package safeelf
