package collection

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/internal/process"
)

// Options say how a [Collection] is loaded and attached. The zero
// value, and nil, attach in every process.
type Options struct {
	// Target says in which processes programs run, by PIDs only.
	Target attach.Target
	// Cookie is returned by bpf_usdt_cookie, and by bpf_get_attach_cookie in
	// programs attached to functions.
	Cookie uint64
	// CookieOf gives each site a cookie of its own, in Cookie's place. It is called before the site
	// is attached to, and so also says which sites appear with Rescan, from their goroutine then. It
	// must not call the collection. One link may serve a location in more than eight processes:
	// then the cookie is that of the first one.
	CookieOf func(attach.Site) uint64

	// Rescan is how often probes are looked for that were not there before, as
	// [attach.Options.Rescan] says; 0 means never.
	Rescan time.Duration
	// Await has [New] and [Load] succeed if no probe matches yet, as
	// [attach.Options.Await] says. It needs Rescan.
	Await bool

	// Force attaches where [attach.Options.Force] does.
	Force bool
	// Link chooses the kernel's mechanism.
	Link attach.LinkKind

	// PrivateStack lets programs have a stack per CPU. Linux 6.13 and later give one to programs
	// that use 64 bytes of stack or more. Two tasks may run such a program at a time on a CPU,
	// and each overwrite what the other has stored. If PrivateStack is not set, New puts a tail
	// call that is never made in front of programs, which keeps them on the stack of the task,
	// and [attach.Site.Notes] says so. [Collection.AttachProgram] refuses the option, because it
	// is for loading.
	PrivateStack bool
	// Collection says how maps and programs are loaded: pinned maps, replaced
	// maps, the verifier's log. [Collection.AttachProgram] refuses it, because it
	// is for loading.
	Collection ebpf.CollectionOptions
}

// checked returns a checked copy of o, which may be nil, whose processes exist.
func (o *Options) checked() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if err := (&attach.Options{Rescan: out.Rescan, Await: out.Await, Link: out.Link}).Validate(); err != nil {
		return out, err
	}
	var err error
	out.Target, err = byPID(out.Target)
	return out, err
}

// byPID returns a checked copy of t, in which each process is named once and exists.
func byPID(t attach.Target) (attach.Target, error) {
	if err := (&attach.FindOptions{Target: t}).Validate(); err != nil {
		return t, err
	}
	t.PIDs = slices.Compact(slices.Sorted(slices.Values(t.PIDs)))
	for _, pid := range t.PIDs {
		if err := process.Check(pid); err != nil {
			return t, err
		}
	}
	held, err := process.Hold(t.PIDs) // they exist
	if err != nil {
		return t, err
	}
	held.Close()
	return t, nil
}

// attaching is checked for a collection that has been loaded.
func (o *Options) attaching() (Options, error) {
	out, err := o.checked()
	loaded := errors.New("it has no effect once the collection has been loaded: pass it to collection.New")
	switch {
	case err != nil:
		return out, err
	case out.PrivateStack:
		return out, &attach.OptionError{Option: "PrivateStack", Err: loaded}
	case !reflect.ValueOf(out.Collection).IsZero():
		return out, &attach.OptionError{Option: "Collection", Err: loaded}
	}
	return out, nil
}

// usable returns why a context cannot be used, nil if it can.
func usable(ctx context.Context) error {
	if ctx == nil {
		return errors.New("the context is nil: pass context.Background() for one without an end")
	}
	return context.Cause(ctx)
}
