package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
)

// stackValue is the flag for the stacks of events.
type stackValue struct {
	calls  int  // at most; 0 for no stacks
	unwind bool // by tables of call frames
}

// registerStack adds the flag --stack, whose value may be left out.
func registerStack(flags *pflag.FlagSet, v *stackValue) {
	flags.Var(v, "stack", "print the calls that led to each event, by frame pointers, N of them at most (default 127); dwarf for code without frame pointers")
	flags.Lookup("stack").NoOptDefVal = strconv.Itoa(attach.MaxStack)
}

func (v *stackValue) Set(s string) error {
	if s == "dwarf" {
		*v = stackValue{attach.MaxStack, true}
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("want a number of calls, dwarf, or nothing")
	}
	if n < 1 || n > attach.MaxStack {
		return fmt.Errorf("%d is not between 1 and %d calls", n, attach.MaxStack)
	}
	*v = stackValue{n, false}
	return nil
}

func (v *stackValue) String() string {
	switch {
	case v.unwind:
		return "dwarf"
	case v.calls == 0:
		return ""
	}
	return strconv.Itoa(v.calls)
}

func (v *stackValue) Type() string { return "N" }

// appendStack appends a stack as text: a line for each function, below that of the
// event.
func appendStack(dst []byte, s *event.Stack) []byte {
	for _, f := range s.Frames() {
		dst = printable.Append(append(dst, "\n\t"...), f.String())
	}
	if s.Err != nil {
		dst = append(printable.Append(append(dst, "\n\t?("...), s.Err.Error()), ')')
	}
	return dst
}
