// Package kallsyms reads what the running kernel calls its functions, and where they are:
// /proc/kallsyms, see proc(5) and kernel/kallsyms.c. It has the functions of modules and of
// loaded BPF programs as well, and no variables.
package kallsyms
