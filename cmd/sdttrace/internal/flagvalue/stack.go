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

// Keys sets v as a key says that holds a value of --stack, such as stack=dwarf,4, and returns the
// keys as they are without it. The comma in the value has divided it.
func (v *Stack) Keys(keys []string) ([]string, error) {
	for i, key := range keys {
		value, ok := strings.CutPrefix(key, "stack=")
		if !ok {
			continue
		}
		rest := keys[i+1:]
		if len(rest) > 0 {
			if _, err := strconv.Atoi(rest[0]); err == nil {
				value, rest = value+","+rest[0], rest[1:]
			}
		}
		if err := v.Set(value); err != nil {
			return nil, fmt.Errorf("stack=%s: %w", value, err)
		}
		return append(append(keys[:i:i], "stack"), rest...), nil
	}
	return keys, nil
}
