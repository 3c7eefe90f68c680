package reader

// What is made of a file's bytes costs its budget (safeelf.File.Spend) so many
// units, each about a nanosecond; memory of a byte that stays counts as one, too.
const (
	costNotes      = 8   // a byte of notes: the shortest, of 48 bytes, takes 250 ns
	costTypes      = 16  // a byte of BTF: package btf makes maps of it
	costType       = 128 // a type that an argument's struct refers to
	costDeclared   = 4   // a byte of the declaration of such a struct
	costSymbol     = 256 // a symbol or a Go function: decoded, sorted, named, told
	costUnxz       = 8   // a byte that comes out of .gnu_debugdata
	costRelocation = 32
	costInsn       = 16 // a byte of code that is disassembled
)
