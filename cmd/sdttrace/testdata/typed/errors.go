// A function that takes and returns errors of many types. The test has their texts.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

type mine struct {
	code int
	msg  string
}

func (m *mine) Error() string { return m.msg }

type plain struct {
	code    int
	at      string
	Message string
}

func (p plain) Error() string { return p.Message }

type word string

func (w word) Error() string { return string(w) }

type bare struct{ code int }

func (*bare) Error() string { return "bare" }

var errRows = errors.New("no rows")

func all() []error {
	_, open := os.Open("/no/such/file")
	_, number := strconv.Atoi("abc")
	return []error{
		nil,
		errRows,
		fmt.Errorf("plain %d", 3),
		fmt.Errorf("query: %w", errRows),
		fmt.Errorf("two: %w and %w", errRows, errRows),
		errors.Join(errRows, errRows),
		open,
		syscall.ENOENT,
		&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		number,
		context.DeadlineExceeded,
		&mine{1, "my own"},
		plain{1, "here", "a structure"},
		word("a word"),
		&bare{1},
	}
}

type job struct {
	name string
	err  error
}

//go:noinline
func handle(n int, err error, j *job) (int, error) {
	sink++
	return n, err
}

var sink int

func main() {
	for i, err := range all() {
		handle(i, err, &job{"mine", err})
	}
	fmt.Fprintln(os.Stderr, sink)
}
