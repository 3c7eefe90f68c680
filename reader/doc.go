// Package reader finds the USDT probes of ELF files and of live processes.
//
// [Open] reads a file. [OpenProcess] reads everything that a process has mapped: its
// executable, libraries, memfd objects and files deleted meanwhile. Both yield a
// [Probe] per site, with what a tracer needs to attach to it: file offsets, decoded
// arguments, and, for objects made by this module, argument names and types.
// [File.Functions] and [Process.Functions] find functions in the same way, and
// [Function.Entry] and [Function.Return] make probes of them.
//
// Files may be hostile: the package trusts no length in them, and returns an error
// for anything that is wrong with them.
//
// Files are read on every system, processes on Linux only: elsewhere the errors of
// [OpenProcess] and [Processes] wrap [errors.ErrUnsupported].
package reader
