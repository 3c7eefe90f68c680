package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// enotsupp is the kernel's internal ENOTSUPP, which uprobe_register returns
// for an instruction that it cannot probe.
const enotsupp = syscall.Errno(524)

// Group is a set of sites that one link can hold.
type Group struct {
	Path    string      // of the file, as errors name it
	Open    string      // leads to the file that was planned for
	File    procfs.ID   // handed on to the links, see [Link.File]
	PID     int         // the only process in which the sites fire, 0 for all processes
	Ended   func() bool // reports whether the process of PID has ended; unused if PID is 0
	Kernel  bool        // the sites are the kernel's, and Offset the addresses of functions or the numbers of tracepoints
	Returns bool        // the sites are returns from functions
	Session bool        // the program runs at their entry and again when they return

	Unpatched func() []uint32 // for links of many functions by trampolines, see [Functions]

	Prog  *ebpf.Program
	Sites []Site
	Calls Calls // nil for the kernel's
}

// Site is a place in a group's file.
type Site struct {
	Offset       uint64 // in the file
	RefCtrOffset uint64 // of the semaphore in the file, 0 for none
	Cookie       uint64 // what bpf_get_attach_cookie returns
	// Opcode is the opcode of the instruction, with its prefixes, "" if it is not
	// known. If the kernel refuses an opcode, other sites with it are not tried.
	Opcode string
	Probe  *reader.Probe // if it is of the kernel
}

// Attach attaches to the sites by links of a kind, and returns the links even with
// an error, which concerns the whole group. refused says, by the index of the
// site, why it was not attached to; nil if it was.
func (g *Group) Attach(ctx context.Context, kind Kind) (links []Link, refused []error, err error) {
	a := &attempt{Group: g, kind: kind, by: &mechanisms[kind], calls: g.Calls, outcomes: make([]error, len(g.Sites))}
	if a.calls == nil {
		a.calls = kernelCalls{}
	}
	a.calls = patient{ctx, a.calls}
	for i := range a.outcomes {
		a.outcomes[i] = errUntried
	}
	err = a.by.attach(ctx, a)
	for i, outcome := range a.outcomes {
		if outcome == errUntried {
			a.outcomes[i] = err
		}
	}
	return a.links, a.outcomes, err
}

// errUntried is the outcome of a site that has not been tried.
var errUntried = errors.New("not tried")

// attempt is the state of attaching a group.
type attempt struct {
	*Group
	kind     Kind
	by       *mechanism
	calls    Calls
	links    []Link
	outcomes []error          // by site: nil if it is attached to
	opcodes  map[string]error // why the kernel refused an opcode
}

// refuse notes why the kernel refused a site, and its opcode if that is the
// reason.
func (a *attempt) refuse(i int, err error) {
	a.outcomes[i] = a.kind.explain(err)
	opcode := a.Sites[i].Opcode
	if opcode == "" || !errors.Is(err, enotsupp) {
		return
	}
	if a.opcodes == nil {
		a.opcodes = map[string]error{}
	}
	a.opcodes[opcode] = a.outcomes[i]
}

// wholeError returns the error if it concerns all sites of the group, nil if err
// may be one site's.
func (a *attempt) wholeError(err error) error {
	switch {
	case errors.As(err, new(*heldError)):
		return err
	case errors.Is(err, os.ErrPermission):
		return privilege.Explain("attach to "+a.Path, err)
	case a.Kernel && (errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)):
		return nil // there is no such function, any more
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH):
		return &goneError{path: a.Path, pid: a.PID, ended: a.ended()}
	case errors.Is(err, errProgram):
		return fmt.Errorf("attach to %s: %w", a.Path, err)
	}
	if r := refusalOf(a.kind, err); r != nil && r.whole {
		return fmt.Errorf("attach to %s: %w", a.Path, a.kind.explain(err))
	}
	return nil
}

// ended reports whether the process that the group is restricted to has ended. A
// link made for its PID may then be for another process.
func (g *Group) ended() bool { return g.PID != 0 && g.Ended() }

// goneError is the error for sites that were found and are no longer there:
// objects are unloaded and processes end while they are being attached to.
type goneError struct {
	path  string
	pid   int
	ended bool
}

func (e *goneError) Error() string {
	if e.ended {
		return fmt.Sprintf("process %d has ended", e.pid)
	}
	return e.path + " is gone: it has been unloaded, or its process has ended"
}

func (e *goneError) Unwrap() error { return os.ErrNotExist }
