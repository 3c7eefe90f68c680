package attach

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/notes"
)

// EventOptions say which events [OpenEvents] delivers, and what they have. The zero value delivers
// all events, with all of their parts.
type EventOptions struct {
	// RingSize is the size in bytes of the buffer between the kernel and this
	// program, rounded up to a power of two; 0 means 4 MiB, with
	// [Options.Unwind] 64 MiB. When it is full, events are dropped and counted. Each process
	// that shares memory has a buffer of about that size.
	RingSize int
	// Ring, unless it is nil, is a ring buffer of the caller's into which the kernel puts the
	// records of events, beside the records of the caller's own programs. The caller reads it, and
	// [Session.Decode] makes events of the records; [Session.Events] yields none. Records of
	// events begin with 32 bits, in the machine's byte order, whose highest is 0: a program's own
	// records are known by setting it. A ring has the events of one session at a time.
	Ring *ebpf.Map
	// Then, unless it is nil, is a program of the caller's that the kernel runs at each event behind its
	// record, with the same context, so that it sees what Target, [Options.Where] and Sample select,
	// and may write to maps of its own. It has type Kprobe and, as [AttachProbes] says, the attach type
	// for the kind of link, and does not sleep; bpf_get_attach_cookie returns nothing that concerns it.
	// Then is for probes and functions of programs, not of the kernel.
	Then *ebpf.Program
	// MaxString is the number of bytes that events keep of each string or byte
	// slice; 0 means 1024. Records with several strings may keep fewer.
	MaxString int
	// On is the condition that [SnapshotOptions] will have: events then hold what it
	// compares, also text of untyped probes and the CPU, and OpenEvents returns a [*WhereError]
	// if it fits no probe.
	On string

	// Sample is N to record one in N of the events that fulfil [Options.Where]; 0 and 1 mean all.
	// The others count as filtered. The kernel chooses by chance, and a process that
	// shares memory takes the first of each N.
	Sample int

	// Signal is sent to the process that fires an event, at the probe.
	Signal Signal

	// Groups has events say in which control group they fired: [event.Event.Group]. Events that
	// come through shared memory do not.
	Groups bool

	// Omit leaves parts out of events that nobody looks at, which makes them
	// cheaper for the process that fires: the kernel calls a function for each part, and
	// reading the clock takes longer than counting the event. Events that come from shared
	// memory or from recordings have these parts all the same. Snapshots need OmitTime
	// unset, and Stack needs OmitProcess unset.
	Omit Omit
}

// Validate checks the options beside opts, as [Options.Validate] does. Both may be nil.
func (o *EventOptions) Validate(opts *Options) error {
	_, err := opts.settings(o)
	return err
}

const (
	defaultRingSize  = 4 << 20
	unwindRingSize   = 64 << 20 // an event takes 16 KiB
	maxRingSize      = 1 << 30
	defaultMaxString = 1024
	maxMaxString     = notes.MaxString
)

// Omit is a set of parts that events need not have, see [EventOptions.Omit].
type Omit uint8

const (
	OmitTime    Omit = 1 << iota // [event.Event.Time]: it is zero
	OmitProcess                  // PID and TID of [event.Event]: they are 0
	OmitComm                     // [event.Event.Comm]: it is empty

	omitAll = OmitTime | OmitProcess | OmitComm
)

// fields returns the fields of records that hold these parts.
func (o Omit) fields() query.Omit {
	return query.Omit{Time: o&OmitTime != 0, Task: o&OmitProcess != 0, Comm: o&OmitComm != 0}
}

// checkEvents sets the sizes that are to be chosen, and returns what is wrong with the options of events.
func (o *settings) checkEvents() error {
	if err := o.checkRing(); err != nil {
		return optionError("Ring", err)
	}
	if err := o.checkThen(); err != nil {
		return optionError("Then", err)
	}
	switch {
	case o.RingSize < 0 || o.RingSize > maxRingSize:
		return optionError("RingSize", fmt.Errorf("%d is not between 0 and %d bytes", o.RingSize, maxRingSize))
	case o.RingSize == 0 && o.Unwind:
		o.RingSize = unwindRingSize
	case o.RingSize == 0:
		o.RingSize = defaultRingSize
	}
	o.RingSize = max(1<<bits.Len(uint(o.RingSize-1)), os.Getpagesize())
	switch {
	case o.MaxString < 0 || o.MaxString > maxMaxString:
		return optionError("MaxString", fmt.Errorf("%d is not between 0 and %d bytes", o.MaxString, maxMaxString))
	case o.MaxString == 0:
		o.MaxString = defaultMaxString
	}
	if o.Sample < 0 || o.Sample > math.MaxInt32 {
		return optionError("Sample", fmt.Errorf("%d is not between 0 and %d", o.Sample, math.MaxInt32))
	}
	if err := o.checkSignal(); err != nil {
		return optionError("Signal", err)
	}
	switch {
	case o.Omit&^omitAll != 0:
		return optionError("Omit", fmt.Errorf("%#x is not a set of OmitTime, OmitProcess and OmitComm", uint8(o.Omit)))
	case o.Omit&OmitProcess != 0 && o.Stack > 0:
		return optionError("Omit", errors.New("the functions of a stack are named by its process"))
	}
	return nil
}

// checkThen returns why the option Then cannot be used.
func (o *settings) checkThen() error {
	switch {
	case o.Then == nil:
	case o.Then.Type() != ebpf.Kprobe:
		return fmt.Errorf("the program has type %v, and has to have %v", o.Then.Type(), ebpf.Kprobe)
	case o.Target.Via != ViaAny && o.Target.Via != ViaKernel || len(o.Target.Recordings) > 0:
		return errors.New("only the kernel runs it: leave Target.Via unset")
	}
	return nil
}

// checkRing returns why the option Ring cannot be used.
func (o *settings) checkRing() error {
	switch {
	case o.Ring == nil:
	case o.Ring.Type() != ebpf.RingBuf:
		return fmt.Errorf("the map is a %v, and has to be a %v", o.Ring.Type(), ebpf.RingBuf)
	case o.RingSize != 0:
		return errors.New("it has a size of its own: leave RingSize 0")
	case o.Target.Via != ViaAny && o.Target.Via != ViaKernel || len(o.Target.Recordings) > 0:
		return errors.New("only the kernel writes to it: leave Target.Via unset")
	}
	return nil
}
