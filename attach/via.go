package attach

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/local"
)

// Via is the way by which events reach this process.
type Via int

const (
	// ViaAny is ViaKernel if this process may attach programs to the kernel, and
	// ViaLocal otherwise.
	ViaAny Via = iota
	// ViaKernel is by programs in the kernel: any probe of any process. It needs the
	// capabilities.
	ViaKernel
	// ViaLocal is through memory that a process shares with this one: the probes that
	// Go services declare with provider.Options.Local, or run with USDT_LOCAL=1. It
	// needs no capability, only that the kernel lets this process read the other's
	// memory, and costs the other about a tenth of what ViaKernel does. Events have
	// no TID.
	ViaLocal
	// ViaBoth is ViaLocal for the processes that offer their probes, and ViaKernel for
	// all others. Unless [Target.PIDs] names some, probes in a file that has a name
	// are traced via the kernel, since any process may run it.
	ViaBoth
	// ViaRecording is from [Target.Recordings].
	ViaRecording
)

func (v Via) String() string {
	switch v {
	case ViaAny:
		return "any"
	case ViaKernel:
		return "kernel"
	case ViaLocal:
		return "local"
	case ViaBoth:
		return "both"
	case ViaRecording:
		return "recording"
	}
	return fmt.Sprintf("Via(%d)", int(v))
}

// isLocal reports whether there may be sites at which no program is attached.
func (v Via) isLocal() bool { return v == ViaLocal || v == ViaBoth || v == ViaRecording }

// attaches reports whether there may be sites at which programs are attached.
func (v Via) attaches() bool { return v != ViaLocal && v != ViaRecording }

// each calls open with the settings for each way that Target.Via permits, until one is
// not refused for lack of privileges. open leaves nothing behind when it fails.
func (o *settings) each(open func(o *settings) error) error {
	if o.Target.Via != ViaAny {
		return open(o)
	}
	kernel := *o
	kernel.Target.Via = ViaKernel
	err := open(&kernel)
	var missing *PrivilegeError
	if !errors.As(err, &missing) || o.Target.Children {
		return err
	}
	shared := *o
	shared.Target.Via = ViaLocal
	var none *local.NotOffered
	switch second := open(&shared); {
	case second == nil:
		return nil
	case errors.As(second, &none):
		return &bothError{err, none}
	case errors.As(second, &missing), errors.Is(second, ErrNoMatch) && errors.Is(err, ErrNoMatch):
		return err // which says the same, or more
	default:
		return &bothError{err, second}
	}
}

// openBy returns the session that open has begun, by one of the ways of each.
func openBy[S any, P interface {
	*S
	release()
	closeCode()
}](o *settings, open func(s P, o *settings) error) (s P, err error) {
	err = o.each(func(o *settings) error {
		s = new(S)
		err := open(s, o)
		if err != nil {
			s.release()
			s.closeCode()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// bothError says why events come neither via the kernel nor through shared memory.
type bothError struct{ kernel, local error }

func (e *bothError) Error() string {
	return fmt.Sprintf("%v; and without privileges: %v", e.kernel, e.local)
}

func (e *bothError) Unwrap() []error { return []error{e.kernel, e.local} }
