// Package safeelf reads the headers and sections of ELF files that nobody
// vouches for.
//
// It reads what is asked for and no more: the headers when a file is opened, a
// section when its data is wanted. Every length is checked against the file
// and against a limit before memory is allocated for it, so that neither a
// sparse file of gigabytes nor a header that lies costs more than an error. What
// all of it costs together comes from one budget, which follows from the file's
// size: sections that overlap or repeat, and those that unpack to more than they
// are, cannot make much of little.
//
// The layout is that of the System V ABI:
// https://gabi.xinuos.com/elf/
package safeelf
