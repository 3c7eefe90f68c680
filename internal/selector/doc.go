// Package selector understands how a command line names probes:
//
//	[PATH:]PROVIDER:NAME   probes, as in 'hotspot:gc__*' or 'libjvm.so:*:*'
//	uprobe:PATH:FUNC       entries of functions
//	uprobe:PATH:FUNC+OFF   an instruction, OFF bytes behind the entry
//	uprobe:PATH:0xADDR     an instruction, by its address in the file
//	uprobe:PATH:FILE:LINE  a line of a source file; also FIRST-LAST, or '*'
//	uretprobe:PATH:FUNC    returns from functions
//	kprobe:FUNC            functions of the kernel; also kretprobe, fentry and fexit
//	tracepoint:SYSTEM:EVENT  events of the kernel
//
// Each part is a glob in which '*' stands for any characters, '/' included, '?'
// for one, '[a-z]' for one of a set and '[!a-z]' for one outside it, and '{a,b*}' for one
// of several patterns; a backslash takes the next character as it is.
package selector
