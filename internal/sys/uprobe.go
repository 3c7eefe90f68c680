package sys

// Optimization says which site instruction the kernel replaces by a call when a
// uprobe sits on it, instead of a breakpoint.
type Optimization int

const (
	NoOptimization Optimization = iota
	OptimizesNop5               // writes below the stack pointer of the site
	OptimizesNop10              // leaves the red zone alone
)
