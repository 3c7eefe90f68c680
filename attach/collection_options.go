package attach

import (
	"errors"
	"reflect"
	"time"

	"github.com/cilium/ebpf"
)

// CollectionOptions say how a [Collection] is loaded and attached. The zero
// value, and nil, attach in every process.
type CollectionOptions struct {
	// Target says in which processes programs run, by PIDs only.
	Target Target
	// Cookie is what bpf_usdt_cookie returns, and bpf_get_attach_cookie in
	// programs attached to functions.
	Cookie uint64

	// Rescan is how often probes are looked for that were not there before, as
	// [Options.Rescan] says; 0 means never.
	Rescan time.Duration
	// Await has Open succeed if no probe matches yet. It needs Rescan.
	Await bool

	// Force attaches where [Options.Force] does.
	Force bool
	// Link chooses the kernel's mechanism.
	Link LinkKind

	// PrivateStack leaves a stack per CPU to programs, as Linux 6.13 and later
	// give it to those that use 64 bytes or more. Two tasks may run such a program
	// at a time on a CPU, and overwrite what the other has stored. Without this
	// option a tail call is put in front that is never made, which keeps them on
	// the stack of the task, and [Site.Notes] say so. It is for loading:
	// [Collection.AttachProgram] refuses it.
	PrivateStack bool
	// Collection is how the kernel is given maps and programs: pinned maps, maps in
	// place of others, the verifier's log. It is for loading:
	// [Collection.AttachProgram] refuses it.
	Collection ebpf.CollectionOptions
}

// checked returns a checked copy of o, which may be nil, whose processes exist.
func (o *CollectionOptions) checked() (CollectionOptions, error) {
	var out CollectionOptions
	if o != nil {
		out = *o
	}
	if err := checkRescan(out.Rescan, out.Await); err != nil {
		return out, err
	}
	var err error
	out.Target, err = out.Target.byPID()
	return out, err
}

// attaching is checked for a collection that has been loaded.
func (o *CollectionOptions) attaching() (CollectionOptions, error) {
	out, err := o.checked()
	loaded := errors.New("the collection has been loaded; it is for NewCollection")
	switch {
	case err != nil:
		return out, err
	case out.PrivateStack:
		return out, &OptionError{"PrivateStack", loaded}
	case !reflect.ValueOf(out.Collection).IsZero():
		return out, &OptionError{"Collection", loaded}
	}
	return out, nil
}
