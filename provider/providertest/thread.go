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
	comm = filepath.Base(os.Args[0])
)

// goroutine returns the number of the goroutine that calls it. A stack trace is the
// only source of this number.
func goroutine() string {
	var b [64]byte
	trace := b[:runtime.Stack(b[:], false)]
	number, _, _ := bytes.Cut(bytes.TrimPrefix(trace, []byte("goroutine ")), []byte(" "))
	return string(number)
}
