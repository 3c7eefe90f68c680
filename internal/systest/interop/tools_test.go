package interop_test

import "slices"

// tools are the rows of the table of tools: the same in all releases.
func tools(r release) []row {
	return slices.Concat(elfTools(), bpftraceRows(r), bccRows(r), perfRows(), debuggerRows(), libbpfRows(), systemtapRows(), ourRows())
}
