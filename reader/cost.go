package reader

// Costs that are charged to a file's budget (safeelf.File.Spend) for what is made of
// its bytes, in units of about a nanosecond. A byte of memory that stays also costs one unit.
const (
	costNotes      = 8   // a byte of notes: the shortest, of 48 bytes, takes 250 ns
	costTypes      = 16  // a byte of BTF: package btf makes maps of it
	costType       = 128 // a type that an argument's struct refers to
	costDeclared   = 4   // a byte of such a struct's declaration
	costSymbol     = 256 // a symbol or a Go function: decoded, sorted, named, yielded
	costRelocation = 32
	costInsn       = 16 // a byte of code that is disassembled
)
