package kernfunc

// Unpatched returns functions of the kernel itself that ftrace does not patch, by their numbers in
// BTF: functions that only a starting kernel runs, and code that must not be traced.
func (t *Table) Unpatched() []uint32 {
	types, err := t.types.of(Kernel)
	if err != nil {
		return nil
	}
	patched := make(map[string]bool, len(t.Functions))
	for i := range t.Functions {
		if f := &t.Functions[i]; f.Module == Kernel {
			for name := range f.Names {
				patched[name] = true
			}
		}
	}
	var out []uint32
	for name, id := range types.functions {
		if id != 0 && !patched[name] {
			out = append(out, id)
		}
	}
	return out
}
