// Package hook has the functions of package event that only package decode calls. They are not
// exported, since others cannot know the layout of records, and event sets them here.
package hook

import "github.com/go-usdt/usdt/symbols"

// Functions have the names that they have in package decode. Their types are known to decode and
// event: this package is imported by event, and so cannot name its types.
var NewDecoder, SavedStack, NamedStack, FirstCalls, NamesOf, DropUnmapped any

// Code names the code of a process.
type Code interface {
	// Names returns the functions that run at an address, the innermost first, or, if call,
	// at the call that returns there. The result is not changed.
	Names(pc uint64, call bool) []symbols.Frame
	// Unwind unwinds a stack as [symbols.Space.Unwind] does.
	Unwind(dst []uint64, registers *symbols.Registers, stack []byte) symbols.Calls
}
