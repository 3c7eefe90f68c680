package providertest

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
)

// pid and comm are this process's number and name, which its threads inherit.
var (
	pid  = os.Getpid()
	comm = name(filepath.Base(os.Args[0]))
)

// name returns the beginning of a program's name that a thread has.
func name(program string) string { return program[:min(len(program), 15)] }

// goroutine returns the number of the goroutine that calls it, and that of its bubble of
// testing/synctest, "" for none. A stack trace is the only source of these numbers:
//
//	goroutine 7 [running, synctest bubble 6]:
func goroutine() (number, bubble string) {
	var b [128]byte
	trace, _, _ := bytes.Cut(b[:runtime.Stack(b[:], false)], []byte("]"))
	trace, inBubble, _ := bytes.Cut(bytes.TrimPrefix(trace, []byte("goroutine ")), []byte(", synctest bubble "))
	first, _, _ := bytes.Cut(trace, []byte(" "))
	inBubble, _, _ = bytes.Cut(inBubble, []byte(","))
	return string(first), string(inBubble)
}
