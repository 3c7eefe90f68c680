package attach

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/privilege"
)

// ErrNoMatch is wrapped by the error of Open if no probe matches a selector.
var ErrNoMatch = discover.ErrNoMatch

// ErrNoSite is wrapped by the error of Open if probes match, but none of their
// sites could be attached to.
var ErrNoSite = site.ErrNoSite

// ErrUnsafe is wrapped by Site.Reason if attaching would harm the traced
// program. [Options.Force] attaches nevertheless.
var ErrUnsafe = plan.ErrUnsafe

// ErrSilent is wrapped by Site.Reason if the site would never fire, or not in
// every process. [Options.Force] attaches nevertheless.
var ErrSilent = plan.ErrSilent

// ErrPanic is wrapped by Site.Reason if attaching could end the host: the sysctl
// kernel.panic_on_warn or kernel.warn_limit is set, and the kernel warns when a
// process is killed while it replaces the site. [Options.Force] attaches nevertheless.
var ErrPanic = plan.ErrPanic

// ErrAggregation is wrapped by the error of OpenAggregate if the aggregation
// makes no sense, in itself or for the probes.
var ErrAggregation = query.ErrAggregation

// SelectorError says why a selector cannot be understood.
type SelectorError struct {
	Selector string // "" if there is none at all
	Err      error
}

func (e *SelectorError) Error() string { return e.Err.Error() }
func (e *SelectorError) Unwrap() error { return e.Err }

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

// WhereError says what is wrong with Options.Where.
type WhereError struct {
	Where  string
	Column int // in characters, from 1
	Msg    string
}

func (e *WhereError) Error() string {
	return fmt.Sprintf("condition %q, column %d: %s", e.Where, e.Column, e.Msg)
}

func parseWhere(where string) (*filter.Expr, error) {
	expr, err := filter.Parse(where)
	return expr, whereError(err)
}

func whereError(err error) error {
	var at *filter.Error
	if errors.As(err, &at) {
		return &WhereError{Where: at.Input, Column: at.Column, Msg: at.Msg}
	}
	return err
}

// PrivilegeError says that this process lacks the privileges to attach. It is a
// struct with the fields
//
//	Op      string   // what was tried
//	Missing []string // capabilities that this process lacks in the initial user namespace: "CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_SYS_ADMIN", "CAP_KILL" or "CAP_DAC_READ_SEARCH"
//	Err     error    // the kernel's answer; wraps os.ErrPermission
//
// In a user namespace of its own (unshare -Ur, a rootless container) a process lacks all of them,
// whatever it may do there. A BPF token stands for the first two, see docs/tool-authors.md.
//
// errors.As finds a *PrivilegeError.
type PrivilegeError = privilege.Error
