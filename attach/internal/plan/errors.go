package plan

import "errors"

// ErrUnsafe is wrapped by [Decision.Reason] if attaching would harm the traced
// program.
var ErrUnsafe = errors.New("attaching would corrupt the traced program")

// ErrSilent is wrapped by [Decision.Reason] if the site would never fire, or not in
// every process.
var ErrSilent = errors.New("the probe would stay silent")

// ErrPanic is wrapped by [Decision.Reason] if attaching could end the host: the
// sysctl kernel.panic_on_warn or kernel.warn_limit is set, and the kernel warns when
// a process is killed while it replaces the site.
var ErrPanic = errors.New("kernel.panic_on_warn or kernel.warn_limit is set, and the kernel warns if a process is killed meanwhile")
