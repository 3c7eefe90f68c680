package bind

import (
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Schema is what is read at a site, and how its records are decoded.
type Schema struct {
	shape.Shape // of records by the Layout of Sig
	Sig         *query.Signature
	// Computed has what Sig lacks if conditions and aggregations are computed from
	// records: Condition, Inputs and Aggregate. Otherwise it is nil. The records of local
	// sites have the layout of Computed, which may keep more of strings.
	Computed *query.Signature
	// Carrier is the slot of what identifies the carrier, if it is recorded; -1 if not.
	Carrier int

	carrier  site.Carrier               // whose identity Carrier has, or the thread's
	enums    map[string]*prototype.Enum // of fields that have one
	units    map[string]string          // of texts that have one
	task     [len(query.TaskKeys)]int   // the slots of what is recorded of the task
	groups   query.Groups               // names control groups that conditions compare
	local    bool
	saved    bool // in a file
	recorded site.Recorded
	compared []string // names of the Inputs
	valued   string   // the name of the aggregate's value
	lacking  *lacking // nil unless the site is bound though something does not fit it
	// onlyRecords says that what is bound is tested on records of a layout that is settled.
	onlyRecords bool
	// withFields returns the schema with its fields, which this one lacks; nil if it has them.
	withFields func() *Schema
}

// arrives reports whether the layout of records is not this process's to decide.
func (s *Schema) arrives() bool { return s.local || s.saved }

// NewSchema returns a schema that reads nothing yet.
func NewSchema(sig *query.Signature) *Schema {
	s := &Schema{Shape: shape.Shape{Layout: &sig.Layout}, Sig: sig, Carrier: -1}
	for i := range s.task {
		s.task[i] = notRecorded
	}
	return s
}

// share makes the schema use sig, an equal signature of another site.
func (s *Schema) share(sig *query.Signature) { s.Sig, s.Layout = sig, &sig.Layout }

// compute leaves the condition and the aggregation to package tally; the condition not,
// if programs test it.
func (s *Schema) compute(tested bool) {
	computed, bare := *s.Sig, *s.Sig
	bare.Aggregate = nil
	if tested {
		computed.Condition = nil
	} else {
		bare.Condition, bare.Inputs = nil, nil
	}
	s.Computed = &computed
	s.share(&bare)
	switch {
	case s.recorded.Kept:
		s.Computed.Limit = s.recorded.Limit
		s.Sig.Limit = min(s.Sig.Limit, s.recorded.Limit)
	case s.local:
		s.Computed.Limit = max(s.Sig.Limit, s.Computed.ComparedString())
	}
}

// kindOf returns the kind of value that the note of an untyped probe declares.
func kindOf(a notes.Arg) reader.FieldKind {
	switch {
	case a.Float:
		return reader.Float
	case a.Signed:
		return reader.Int
	}
	return reader.Uint
}
