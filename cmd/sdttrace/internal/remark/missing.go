package remark

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// bpftraceKinds are kinds of probes that other tools have, and bpftraceEvents kinds that may
// as well be names of providers: bpftrace has them with three parts, as in interval:s:1.
var (
	bpftraceKinds  = []string{"usdt", "rawtracepoint", "kfunc", "kretfunc"}
	bpftraceEvents = []string{"profile", "interval", "software", "hardware"}
)

// Missing returns the error of a session whose probes are not there with what may have been meant: the
// probes of another tool or, if it can be waited for, a program that starts later.
func Missing(err error, probes []string, waitable bool) error {
	if !errors.Is(err, attach.ErrNoMatch) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, probe := range probes {
		if kind, rest, _ := strings.Cut(probe, ":"); slices.Contains(bpftraceKinds, kind) || slices.Contains(bpftraceEvents, kind) && strings.Contains(rest, ":") {
			return fmt.Errorf("%w; %s: is bpftrace's: here it is [PATH:]PROVIDER:NAME, uprobe:PATH:FUNC, kprobe:FUNC, fentry:FUNC or tracepoint:SYSTEM:EVENT", err, kind)
		}
	}
	if missing := (*attach.PrivilegeError)(nil); !waitable || errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) && !later(err, probes) {
		return err
	}
	return fmt.Errorf("%w; --wait waits for it", err)
}

// later reports whether no probe matches because no program that runs has it: it is one of any file, and
// no other probe may have been meant.
func later(err error, probes []string) bool {
	text := err.Error()
	return !strings.HasSuffix(text, " would") && !strings.HasSuffix(text, " other probes") && !slices.ContainsFunc(probes, func(probe string) bool {
		s, err := selector.Parse(probe)
		return err != nil || s.Kind != reader.USDT || s.Path != ""
	})
}
