package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
)

// bpftraceKinds are kinds of probes that other tools have, and bpftraceEvents kinds that may
// as well be names of providers: bpftrace has them with three parts, as in interval:s:1.
var (
	bpftraceKinds  = []string{"usdt", "rawtracepoint", "kfunc", "kretfunc"}
	bpftraceEvents = []string{"profile", "interval", "software", "hardware"}
)

// unattached returns the error for a session that could not be opened. user is the
// context that signals end.
func unattached(user context.Context, probes []string, err error) error {
	err = interrupt.ErrorOf(user, err)
	if by := (*interrupt.Cause)(nil); errors.As(err, &by) {
		return fmt.Errorf("%w before anything was attached", by)
	}
	if errors.Is(err, attach.ErrNoMatch) || errors.Is(err, fs.ErrNotExist) {
		for _, probe := range probes {
			if kind, rest, _ := strings.Cut(probe, ":"); slices.Contains(bpftraceKinds, kind) || slices.Contains(bpftraceEvents, kind) && strings.Contains(rest, ":") {
				err = fmt.Errorf("%w; %s: as in bpftrace is unknown here: USDT probes are [PATH:]PROVIDER:NAME, functions uprobe:PATH:FUNC, those of the kernel kprobe:FUNC or fentry:FUNC, its events tracepoint:SYSTEM:EVENT", err, kind)
				break
			}
		}
	}
	return openError(err)
}

// openError turns an error in an option into one of usage.
func openError(err error) error {
	if missing := (*attach.PrivilegeError)(nil); errors.As(err, &missing) {
		return err // whatever else it says
	}
	if where := (*attach.WhereError)(nil); errors.As(err, &where) {
		return usageError{where}
	}
	err = optionError(err)
	var selector *attach.SelectorError
	if errors.As(err, &selector) || errors.Is(err, attach.ErrAggregation) {
		return usageError{err}
	}
	return err
}
