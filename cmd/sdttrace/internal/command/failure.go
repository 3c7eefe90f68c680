package command

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// Failure says how a program that sdttrace has started failed.
type Failure struct {
	Path string
	Err  error
}

func (f *Failure) Error() string {
	if status, ok := f.status(); ok && status.Signal() == syscall.SIGTRAP {
		return fmt.Sprintf("%s: %v: a program that copies its code, as for large pages, copies breakpoints of sdttrace with it", f.Path, f.Err)
	}
	return fmt.Sprintf("%s: %v", f.Path, f.Err)
}

func (f *Failure) Unwrap() error { return f.Err }

// status returns how the program ended, if it did.
func (f *Failure) status() (status syscall.WaitStatus, ok bool) {
	var exit *exec.ExitError
	if !errors.As(f.Err, &exit) {
		return 0, false
	}
	status, ok = exit.Sys().(syscall.WaitStatus)
	return status, ok
}

// signalled is what shells add to the signal that has ended a program.
const signalled = 128

// Code returns the exit code of the program that has failed, as shells report it: 128 and the number of
// the signal that has ended it. It returns other if err is no such failure.
func Code(err error, other int) int {
	var f *Failure
	if !errors.As(err, &f) {
		return other
	}
	switch status, ok := f.status(); {
	case ok && status.Signaled():
		return signalled + int(status.Signal())
	case ok && status.Exited():
		return status.ExitStatus()
	}
	return other
}
