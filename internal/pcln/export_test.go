package pcln

import "io"

// SetMemory says what the program has at an address.
func (t *Table) SetMemory(r io.ReaderAt) { t.memory = r }
