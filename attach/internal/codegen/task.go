package codegen

// loadTask puts the process id, in the upper half, and the thread id into R0.
// They are the ids in this process's PID namespace, or 0 if the task has none
// there; in the initial namespace they are the kernel's own. It changes R1 to R5
// and stackSum.
func (g *generator) loadTask() {
	g.emit(g.refs.Namespace.Load(stackSum)...)
}
