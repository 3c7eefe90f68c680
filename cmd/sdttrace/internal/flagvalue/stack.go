package flagvalue

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/attach"
)

// Stack is the flag for the stacks of events.
type Stack struct {
	Calls  int  // at most; 0 for no stacks
	Unwind bool // by tables of call frames
}

func (v *Stack) Set(s string) error {
	if s == "dwarf" {
		*v = Stack{attach.MaxStack, true}
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
	*v = Stack{n, unwind}
	return nil
}

// IsStack reports whether a word is a value of --stack that stands apart.
func IsStack(word string) bool {
	number, _ := strconv.Atoi(word)
	return word == "dwarf" || number > 0
}

func (v *Stack) String() string {
	switch {
	case v.Unwind && v.Calls == attach.MaxStack:
		return "dwarf"
	case v.Unwind:
		return "dwarf," + strconv.Itoa(v.Calls)
	case v.Calls == 0:
		return ""
	}
	return strconv.Itoa(v.Calls)
}

func (v *Stack) Type() string { return "N" }
