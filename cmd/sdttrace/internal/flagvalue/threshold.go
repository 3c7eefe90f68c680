package flagvalue

import "time"

// Threshold is a flag for a duration. Zero is a value, and differs from no flag.
type Threshold struct {
	time.Duration
	Given bool
}

func (t *Threshold) Set(s string) (err error) {
	t.Duration, err = time.ParseDuration(s)
	if t.Given = err == nil; err == nil && t.Duration < 0 {
		err = ErrNegative
	}
	return err
}

func (t *Threshold) String() string {
	if !t.Given {
		return ""
	}
	return t.Duration.String()
}

func (t *Threshold) Type() string { return "duration" }
