package codegen

// loadTask puts the process id, in the upper half, and the thread id into R0. In
// the initial namespace these are what the kernel counts by; in another they are
// those of this process's, or 0 of a task that has none there. It changes R1 to R5
// and stackSum.
func (g *generator) loadTask() {
	g.emit(g.refs.Namespace.Load(stackSum)...)
}
