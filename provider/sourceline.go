package provider

import (
	"fmt"
	"runtime"
)

// sourceLine is where something was declared: a return address in the program, 0 for none.
// It costs a word and no time; only an error needs file and line.
type sourceLine uintptr

// String returns the file and line.
func (p sourceLine) String() string {
	f, _ := runtime.CallersFrames([]uintptr{uintptr(p)}).Next()
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}
