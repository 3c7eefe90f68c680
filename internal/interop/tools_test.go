package interop_test

import "slices"

func tools() []row {
	return slices.Concat(elfTools(), bpftraceRows(), bccRows(), perfRows(), debuggerRows(), compilerRows(), ourRows())
}
