package flagvalue

import (
	"errors"
	"strconv"
	"time"
)

// ErrNegative is the error of a flag whose value must not be negative.
var ErrNegative = errors.New("it is negative")

// Count is a flag for a number that is not negative.
type Count int

func (c *Count) Set(s string) error {
	n, err := strconv.ParseInt(s, 0, strconv.IntSize)
	switch {
	case err != nil:
		return err
	case n < 0:
		return ErrNegative
	}
	*c = Count(n)
	return nil
}

func (c *Count) String() string { return strconv.Itoa(int(*c)) }
func (c *Count) Type() string   { return "int" }

// Duration is a flag for a duration that is not negative.
type Duration time.Duration

func (d *Duration) Set(s string) error {
	took, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return err
	case took < 0:
		return ErrNegative
	}
	*d = Duration(took)
	return nil
}

func (d *Duration) String() string { return time.Duration(*d).String() }
func (d *Duration) Type() string   { return "duration" }
