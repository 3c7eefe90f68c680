package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Values of TrackEvent.Type.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counter    = 4
)

// packetSize returns the size of the first packet of a trace, and whether its end is
// missing.
func packetSize(b []byte) (size int, cut bool) {
	_, _, size = protowire.ConsumeField(b)
	return size, size < 0
}

// play puts events together, which are in order.
func (t *Trace) play(all []occurrence, tracks map[uint64]*track) error {
	open := map[uint64][]*Slice{} // by track
	atOnce := map[uint64]*Slice{} // the last instant on each track, if nothing followed it
	flows := map[uint64]*Slice{}  // the last slice of each
	for _, o := range all {
		id := get[uint64](o.event, "track_uuid")
		tr := tracks[id]
		if tr == nil {
			return fmt.Errorf("an event is on track %d, which is not described", id)
		}
		typ := get[uint64](o.event, "type")
		if typ == counter {
			t.countOn(tr, o.event)
			continue
		}
		s := &Slice{PID: tr.pid, TID: tr.tid, Lane: tr.name, At: o.at, Instant: typ == instant, Args: map[string]any{}, Track: id}
		var err error
		if s.Name, err = o.seq.text("event_names", get[uint64](o.event, "name_iid")); err != nil {
			return err
		}
		if s.Category, err = o.seq.text("event_categories", get[uint64](o.event, "category_iids")); err != nil {
			return err
		}
		stack := open[id]
		last := atOnce[id]
		delete(atOnce, id)
		switch typ {
		case sliceBegin, instant:
			if s.Depth = len(stack); s.Depth > 0 {
				s.Parent = stack[s.Depth-1]
			}
			if s.Instant {
				if last != nil && last.At == s.At { // instants of one time nest
					s.Depth, s.Parent = last.Depth+1, last
				}
				atOnce[id] = s
			}
			t.Slices = append(t.Slices, s)
			if typ == sliceBegin {
				s.Open, open[id] = true, append(stack, s)
			}
		case sliceEnd:
			// The innermost slice of this name ends; those within it stay open.
			i := len(stack) - 1
			for i >= 0 && (stack[i].Name != s.Name || stack[i].Category != s.Category) {
				i--
			}
			if i < 0 {
				return fmt.Errorf("slice %s ends on track %d, and has not begun there", s.Name, id)
			}
			s = stack[i]
			s.Took, s.Open = time.Duration(o.at-s.At), false
			if i != len(stack)-1 {
				return fmt.Errorf("slice %s ends within %s", s.Name, stack[len(stack)-1].Name)
			}
			open[id] = slices.Delete(stack, i, i+1)
		default:
			return fmt.Errorf("an event of type %d", typ)
		}
		if err := s.annotate(o.seq, "", o.event["debug_annotations"]); err != nil {
			return err
		}
		for _, f := range o.event["flow_ids"] {
			if last := flows[f.(uint64)]; last != nil {
				t.Flows = append(t.Flows, [2]*Slice{last, s})
			}
			flows[f.(uint64)] = s
		}
		if iid := get[uint64](o.event, "callstack_iid"); iid != 0 && s.Stack == nil {
			if s.Stack, err = o.seq.stack(iid); err != nil {
				return err
			}
		}
	}
	return nil
}

// countOn adds a value of a counter.
func (t *Trace) countOn(tr *track, e message) {
	v := get[float64](e, "double_counter_value")
	if e["counter_value"] != nil {
		v = float64(get[int64](e, "counter_value"))
	}
	key := fmt.Sprint(tr.pid, " ", tr.name)
	t.Counters[key] = append(t.Counters[key], v)
}

// plain takes from names what paths are made with, as trace_processor does.
var plain = strings.NewReplacer(".", "_", "[", "_", "]", "_")

// annotate adds annotations to the arguments; members of structs and lists stand below a path.
func (s *Slice) annotate(seq *sequence, path string, annotations []any) error {
	for _, a := range annotations {
		a := a.(message)
		name, err := seq.text("debug_annotation_names", get[uint64](a, "name_iid"))
		if err != nil {
			return err
		}
		name = plain.Replace(name)
		if path != "" {
			name = path + "." + name
		}
		if err := s.set(seq, name, a); err != nil {
			return err
		}
	}
	return nil
}

// set sets an argument to the value of an annotation.
func (s *Slice) set(seq *sequence, name string, a message) error {
	for i, element := range a["array_values"] {
		if err := s.set(seq, fmt.Sprintf("%s[%d]", name, i), element.(message)); err != nil {
			return err
		}
	}
	if a["array_values"] != nil {
		return nil
	}
	if a["dict_entries"] != nil {
		return s.annotate(seq, name, a["dict_entries"])
	}
	for field, values := range a {
		if field != "name_iid" {
			s.Args[name] = values[0]
			return nil
		}
	}
	return fmt.Errorf("argument %s has no value", name)
}
