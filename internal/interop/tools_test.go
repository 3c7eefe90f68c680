package interop_test

import "slices"

// tools are the rows of the table of tools.
func tools() []row {
	return slices.Concat(elfTools(), bpftraceRows(), bccRows(), perfRows(), debuggerRows(), libbpfRows(), systemtapRows(), ourRows())
}
