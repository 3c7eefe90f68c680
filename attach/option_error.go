package attach

// OptionError says which option cannot be used or would have no effect.
type OptionError struct {
	Option string // the name of the field
	Err    error
}

func (e *OptionError) Error() string { return "option " + e.Option + ": " + e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// optionError returns err as an error about an option, nil if err is nil.
func optionError(option string, err error) error {
	if err == nil {
		return nil
	}
	return &OptionError{option, err}
}
