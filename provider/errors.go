package provider

import (
	"errors"
	"fmt"
)

// Inlining errors.Join and fmt.Errorf into all their callers here would add 12 kB to
// each service that declares probes.

//go:noinline
func join(errs ...error) error { return errors.Join(errs...) }

//go:noinline
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }
