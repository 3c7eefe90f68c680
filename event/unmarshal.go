package event

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// UnmarshalJSON sets the event to one that [Event.MarshalJSON] has written; from it the same JSON
// is made again. Values have the types that UnmarshalJSON of [Struct] says, errors of arguments wrap
// [ErrTruncated], [ErrFault] and [ErrNil] as before, and the stack has its frames. Probe is nil, or has
// only the kind and the names of a function. Members that MarshalJSON does not write are ignored.
func (e *Event) UnmarshalJSON(data []byte) error {
	var in struct {
		Time                 time.Time
		PID, TID             int
		Comm, Provider, Name string
		Kind                 string
		Args                 Struct
		Errors               json.RawMessage
		members
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("decode an event: %w", err)
	}
	out := Event{Time: in.Time, PID: in.PID, TID: in.TID, Comm: in.Comm, Provider: in.Provider, Name: in.Name, Args: in.Args}
	if in.Errors != nil {
		if err := in.Args.UnmarshalErrors(in.Errors); err != nil {
			return fmt.Errorf("decode the errors of an event: %w", err)
		}
	}
	if in.Kind != "" {
		kind, ok := reader.ParseProbeKind(in.Kind)
		if !ok || kind == reader.USDT {
			return fmt.Errorf("decode an event: %q is no kind of function", in.Kind)
		}
		out.Probe = &reader.Probe{Kind: kind}
		out.Probe.Provider, out.Probe.Name = in.Provider, in.Name
	}
	if err := out.setParts(&in.members); err != nil {
		return err
	}
	*e = out
	return nil
}

// frame is a frame in JSON.
type frame struct {
	Addr, Offset       uint64
	Func, File, Module string
	Line               int
	Inlined            bool
	BuildID            string `json:"build_id"`
}

func (s *Stack) unmarshal(data []byte) error {
	var frames []frame
	if err := json.Unmarshal(data, &frames); err != nil {
		return err
	}
	s.named = []symbols.Frame{}
	inlined := false // the one before
	for _, f := range frames {
		if !inlined {
			s.PCs = append(s.PCs, f.Addr)
		}
		inlined = f.Inlined
		s.named = append(s.named, symbols.Frame{Address: f.Addr, Func: f.Func, File: f.File, Line: f.Line, Inlined: f.Inlined, Module: f.Module, Offset: f.Offset, BuildID: f.BuildID})
	}
	return nil
}
