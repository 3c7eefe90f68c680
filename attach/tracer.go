package attach

import (
	"context"
	"iter"

	"github.com/cilium/ebpf"
)

// Tracer is what [Session], [Aggregate], [Latency], [Pairs], [Spans] and [Recorder] have in common. Other
// packages do not implement it: it may get more methods.
type Tracer interface {
	// Via returns the way by which events come, and Plan what was decided and done for every site.
	// Sites yields sites as they are attached to, refused and left.
	Via() Via
	Plan() Plan
	Sites(context.Context) iter.Seq2[Site, bool]
	// Stats returns what became of events, Faults what conditions could not read, Refused what is
	// missing for the names of code, NoMatch which selectors name nothing yet, Hot how many functions
	// of the kernel patterns leave out since they run all the time, and Cost what programs took of
	// the CPUs.
	Stats() (Stats, error)
	Faults() []Fault
	Refused() []error
	NoMatch() []error
	Hot() int
	Cost() (Cost, error)
	// Members returns the table of the processes that [Target.Children] means, nil without.
	Members() *ebpf.Map
	// Rescan looks for new sites now, and RescanHeld does while the processes stand still.
	Rescan() error
	RescanHeld() error
	// Stop detaches; Close also frees everything. After Close, Pending and Wait are about what the
	// kernel has yet to remove, see [Attachment.Pending].
	Stop() error
	Close() error
	Pending() int
	Wait(context.Context) error

	tracer()
}

func (t *tracing) tracer() {}
