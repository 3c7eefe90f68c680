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

// bpftraceKinds has what bpftrace's kinds of probes are here, and bpftraceEvents kinds that may
// as well be names of providers: bpftrace has them with three parts, as in interval:s:1.
var (
	bpftraceKinds = map[string]string{
		"usdt": "[PATH:]PROVIDER:NAME", "rawtracepoint": "tracepoint:SYSTEM:EVENT", "kfunc": "fentry:FUNC", "kretfunc": "fexit:FUNC",
	}
	bpftraceEvents = []string{"profile", "interval", "software", "hardware"}
)

// Foreign returns a hint if one of the probes is written as bpftrace writes it: the form that sdttrace takes, if it has
// such probes. It is empty for other probes.
func Foreign(probes []string) string {
	for _, probe := range probes {
		kind, rest, _ := strings.Cut(probe, ":")
		if here := bpftraceKinds[kind]; here != "" {
			return fmt.Sprintf("; bpftrace's %s: is %s here", kind, here)
		}
		if slices.Contains(bpftraceEvents, kind) && strings.Contains(rest, ":") {
			return fmt.Sprintf("; bpftrace has %s:, and sdttrace has no such probes", kind)
		}
	}
	return ""
}

// Selectors returns the selectors that errors say match nothing.
func Selectors(noMatch []error) (selectors []string) {
	for _, err := range noMatch {
		if rest, ok := strings.CutPrefix(err.Error(), attach.ErrNoMatch.Error()+" "); ok {
			selector, _, _ := strings.Cut(rest, " ")
			selectors = append(selectors, strings.TrimSuffix(selector, ":")) // the error may go on
		}
	}
	return selectors
}

// Missing returns the error of a session whose probes are not there with what may have been meant: the
// probes of another tool or, if it can be waited for, a program that starts later.
func Missing(err error, probes []string, waitable bool) error {
	if !errors.Is(err, attach.ErrNoMatch) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if foreign := Foreign(probes); foreign != "" {
		return fmt.Errorf("%w%s", err, foreign)
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
