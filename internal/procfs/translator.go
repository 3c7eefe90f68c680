package procfs

import (
	"path/filepath"
	"slices"
	"strings"
)

// machines are what QEMU calls the machines whose code it may run beside this module's tracers.
var machines = []string{"x86_64", "i386", "aarch64", "arm"}

// TranslatorAt returns the name of the program at path if it runs the code of another by
// translating it, "" if it is not known to: valgrind's tools and QEMU's emulators of single
// programs. They read the other's files as data, in which the kernel puts breakpoints
// nevertheless.
func TranslatorAt(path string) string {
	dir, name := filepath.Split(path)
	if filepath.Base(dir) == "valgrind" && strings.HasSuffix(name, "-linux") { // memcheck-amd64-linux
		return "valgrind"
	}
	machine, ok := strings.CutPrefix(strings.TrimSuffix(name, "-static"), "qemu-")
	if ok && slices.Contains(machines, machine) {
		return "QEMU"
	}
	return ""
}
