// Package privilege says which capabilities this process lacks for what it tried.
package privilege

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Error says that this process may not do what attaching needs.
type Error struct {
	Op      string   // what was tried
	Missing []string // capabilities that this process lacks in the initial user namespace: "CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_SYS_ADMIN", "CAP_KILL" or "CAP_DAC_READ_SEARCH"
	Err     error    // the kernel's answer; wraps os.ErrPermission
}

func (e *Error) Error() string {
	if len(e.Missing) == 0 {
		return e.Op + ": not allowed although this process has the capabilities (a container, a security module or sysctl kernel.perf_event_paranoid may forbid it): " + e.Err.Error()
	}
	lacks := e.Op + ": not allowed, this process lacks " + strings.Join(e.Missing, " and ")
	if !Contained() {
		return lacks
	}
	lacks += " in the initial user namespace: capabilities in one of its own do not count"
	if slices.Contains(e.Missing, "CAP_BPF") {
		lacks += " without a BPF token for it (Linux 6.9)"
	}
	return lacks
}

func (e *Error) Unwrap() error { return e.Err }

// Explain returns err with op, and with the capabilities that attaching needs and
// this process lacks if err is about permission.
func Explain(op string, err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return err
	}
	if !errors.Is(err, os.ErrPermission) {
		return &opError{op, err}
	}
	missing := missingCapabilities()
	var verifier *ebpf.VerifierError
	if (len(missing) == 0 || Contained()) && errors.As(err, &verifier) && len(verifier.Log) > 0 {
		return &opError{op, err} // the kernel also returns EACCES for invalid programs
	}
	return &Error{Op: op, Missing: missing, Err: err}
}

type opError struct {
	op  string
	err error
}

func (e *opError) Error() string { return e.op + ": " + e.err.Error() }
func (e *opError) Unwrap() error { return e.err }

// initialNamespace is PROC_USER_INIT_INO, include/linux/proc_ns.h.
const initialNamespace = 0xeffffffd

// Contained reports whether this process is in a user namespace of its own, as far as it can find
// out. The kernel asks for the initial one's capabilities.
func Contained() bool {
	var st unix.Stat_t
	return unix.Stat("/proc/self/ns/user", &st) == nil && st.Ino != initialNamespace
}

// Has reports whether this process has a capability in the initial user namespace, as far as it can
// find out.
func Has(c uint) bool {
	if Contained() {
		return false
	}
	var data [2]unix.CapUserData
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0])
	return err != nil || data[c/32].Effective&(1<<(c%32)) != 0
}

// missingCapabilities returns the capabilities among CAP_BPF and CAP_PERFMON that this process
// lacks. CAP_SYS_ADMIN stands for either.
func missingCapabilities() []string {
	if Has(unix.CAP_SYS_ADMIN) {
		return nil
	}
	var missing []string
	if !Has(unix.CAP_BPF) {
		missing = append(missing, "CAP_BPF")
	}
	if !Has(unix.CAP_PERFMON) {
		missing = append(missing, "CAP_PERFMON")
	}
	return missing
}
