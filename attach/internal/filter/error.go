package filter

import "fmt"

// Error says what is wrong with a condition, and where.
type Error struct {
	Input  string
	Column int // in characters, from 1
	Msg    string
}

func (e *Error) Error() string { return fmt.Sprintf("%q, column %d: %s", e.Input, e.Column, e.Msg) }
