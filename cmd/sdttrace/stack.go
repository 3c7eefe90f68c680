package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/attach"
)

// stackValue is the flag for the stacks of events.
type stackValue struct {
	calls  int  // at most; 0 for no stacks
	unwind bool // by tables of call frames
}

func (v *stackValue) Set(s string) error {
	if s == "dwarf" {
		*v = stackValue{attach.MaxStack, true}
		return nil
	}
	number, unwind := strings.CutPrefix(s, "dwarf,")
	most := attach.MaxStack
	if unwind {
		most = attach.MaxUnwound
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return errors.New("want a number of calls, dwarf, dwarf and a number (dwarf,400), or nothing")
	}
	if n < 1 || n > most {
		return fmt.Errorf("%d is not between 1 and %d calls", n, most)
	}
	*v = stackValue{n, unwind}
	return nil
}

// saysStack reports whether a word is a value of --stack that stands apart.
func saysStack(word string) bool {
	number, _ := strconv.Atoi(word)
	return word == "dwarf" || number > 0
}

func (v *stackValue) String() string {
	switch {
	case v.unwind && v.calls == attach.MaxStack:
		return "dwarf"
	case v.unwind:
		return "dwarf," + strconv.Itoa(v.calls)
	case v.calls == 0:
		return ""
	}
	return strconv.Itoa(v.calls)
}

func (v *stackValue) Type() string { return "N" }
