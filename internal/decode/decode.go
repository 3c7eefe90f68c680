// Package decode makes events of records, for the sources of events in this module. Its functions
// are functions of package event that nobody else can call, since the shapes of records are internal.
package decode

import (
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode/hook"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// Decoder turns records into events. One goroutine at a time may use it.
type Decoder interface {
	// Decode returns the event in a record. If it returns an error and an event with a
	// Probe, the event lacks only arguments.
	Decode(rec []byte) (event.Event, error)
	// View returns a view of the event in a record, which is valid until the next call
	// and as long as rec does not change. If it returns an error, the view has no
	// arguments, or is nil if the site is not known.
	View(rec []byte) (*event.View, error)
	// StackOf returns the stack in a record, nil if its site is not known or has none.
	StackOf(rec []byte) *event.Stack
	// NameCode gives stacks the names of their code. code returns the Code of the process
	// in which probe p fired with the stack pcs, or nil if it is not known.
	NameCode(code func(pid int, p *reader.Probe, pcs []uint64) Code)
	// KnowStacks gives events the stacks that were saved. saved returns the stack with a
	// number, nil if it is not known any more.
	KnowStacks(saved func(number uint64) *event.Stack)
	// KnowGroups gives events the words of their control groups, by ids.
	KnowGroups(of func(id uint64) (cgroup, container, pod string))
}

// Code names the code of a process.
type Code = hook.Code

var (
	newDecoder   = hook.NewDecoder.(func(func(uint32) (*shape.Shape, *reader.Probe), func(uint64) time.Time) any)
	savedStack   = hook.SavedStack.(func([]uint64, [][]symbols.Frame, error) *event.Stack)
	namedStack   = hook.NamedStack.(func(symbols.Calls, *record.Stack, Code) *event.Stack)
	firstCalls   = hook.FirstCalls.(func(*event.Stack, int) *event.Stack)
	namesOf      = hook.NamesOf.(func(*event.Stack) [][]symbols.Frame)
	dropUnmapped = hook.DropUnmapped.(func(*event.Stack))
)

// NewDecoder returns a Decoder for the records of one source. sites returns the shape
// of a site's records and its probe, by the site's number in a record; it returns nil
// if there is no such site. wall converts a reading of the records' clock, in
// nanoseconds, to the time.
func NewDecoder(sites func(site uint32) (*shape.Shape, *reader.Probe), wall func(monotonic uint64) time.Time) Decoder {
	return newDecoder(sites, wall).(Decoder)
}

// NamedStack returns the stack with the addresses calls, from a record whose stacks have the
// form st. It names the frames at once; code may be nil.
func NamedStack(calls symbols.Calls, st *record.Stack, code Code) *event.Stack {
	return namedStack(calls, st, code)
}

// SavedStack returns a stack whose PCs, names and Err were kept.
func SavedStack(pcs []uint64, names [][]symbols.Frame, err error) *event.Stack {
	return savedStack(pcs, names, err)
}

// NamesOf returns the functions that run at each address, the innermost first, to be kept.
func NamesOf(s *event.Stack) [][]symbols.Frame { return namesOf(s) }

// FirstCalls returns a saved stack with no more than most addresses, the first ones, for
// [DropUnmapped].
func FirstCalls(s *event.Stack, most int) *event.Stack { return firstCalls(s, most) }

// DropUnmapped removes the outermost frames of a named stack that are in no file and have no
// name: behind code without frame pointers, a stack leads to addresses that are no code and
// differ from process to process. A stack that has no other frames stays as it is.
func DropUnmapped(s *event.Stack) { dropUnmapped(s) }
