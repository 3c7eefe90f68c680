package operand

import (
	"fmt"
	"runtime"
)

// A trampoline saves a function's arguments and its result as words, and programs ask for a word by
// its number. They put the needed ones on their stack, from SavedAt on, where operands find them
// as others find registers: package kernfunc names the words by registers.
const (
	// SavedAt is where the words are, from the frame pointer: the end of a program's stack.
	SavedAt = -512
	// SavedResult is the number of the result's word, behind the arguments' words: as many as
	// kernfunc.MaxSaved.
	SavedResult = 10
	// SavedSize is how many bytes the words take.
	SavedSize = 8 * (SavedResult + 1)
)

var (
	savedAMD64 = &Registers{saved: true, ByName: savedNames("rax", "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13")}
	savedARM64 = &Registers{saved: true, ByName: savedNames("x10", "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9")}
)

// savedNames gives words their places.
func savedNames(result string, arguments ...string) map[string]int16 {
	at := map[string]int16{result: 8 * SavedResult}
	for i, name := range arguments {
		at[name] = int16(8 * i)
	}
	return at
}

// Saved returns where programs that trampolines call find what these save.
func Saved() (*Registers, error) {
	switch runtime.GOARCH {
	case "amd64":
		return savedAMD64, nil
	case "arm64":
		return savedARM64, nil
	}
	return nil, fmt.Errorf("trampolines on %s are not known", runtime.GOARCH)
}

// saved adds the numbers of the words to which locations lead.
func saved(words uint16, all ...Location) uint16 {
	for _, l := range all {
		if l.Saved {
			words |= 1 << (l.Off / 8)
		}
	}
	return words
}

// SavedWords returns which words the operand needs, as bits.
func (op *Operand) SavedWords() (words uint16) {
	if op.HasBase {
		words = saved(words, op.Base)
	}
	if op.HasIndex {
		words = saved(words, op.Index)
	}
	if op.HasPair {
		words = saved(words, op.Pair)
	}
	return words
}
