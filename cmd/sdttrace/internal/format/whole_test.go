package format

import (
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
)

// TestWholeEvent checks that an event has the same fields, byte by byte, whether all of its parts
// are named, it is printed alone, in a pair or in a snapshot: in JSON it is written in one way.
func TestWholeEvent(t *testing.T) {
	cut := errors.New("truncated")
	at := time.Date(2026, 11, 24, 9, 8, 7, 6000, time.UTC)
	values := []event.Arg{
		{Name: "uint", Value: uint64(math.MaxUint64)}, {Name: "int", Value: int64(math.MinInt64)}, {Name: "real", Value: 0.1}, {Name: "nan", Value: math.NaN()}, {Name: "inf", Value: math.Inf(-1)},
		{Name: "is", Value: true}, {Name: "text", Value: "a\"<\u2028\n"}, {Name: "bad", Value: "\xff"}, {Name: "both", Value: "\xff", Err: cut}, {Name: "bytes", Value: []byte{0, 255}},
		{Name: "id", Value: event.Hex{0x8c, 0x17}}, {Name: "took", Value: time.Second}, {Name: "at", Value: at}, {Name: "addr", Value: netip.MustParseAddr("::1")}, {Name: "none", Value: netip.Addr{}},
		{Name: "peer", Value: event.Struct{{Name: "port", Value: uint64(80), Err: cut}, {Name: "x\"y", Value: nil}}}, {Name: "list", Value: event.List{{Value: int64(1)}, {Value: "b", Err: cut}}},
		{Name: "gone", Err: event.ErrFault},
	}
	usdt, function := &reader.Probe{Kind: reader.USDT}, &reader.Probe{Kind: reader.Uprobe}
	base := event.Event{Time: at, PID: 12, TID: 13, Comm: "shop \"worker\"", Provider: "shop", Name: "done", Probe: usdt, Args: values}
	events := map[string]event.Event{"values": base}
	vary := func(name string, change func(*event.Event)) {
		ev := base
		change(&ev)
		events[name] = ev
	}
	vary("no arguments", func(ev *event.Event) { ev.Args = nil })
	vary("a nil record", func(ev *event.Event) { ev.Args = []event.Arg{{Name: "a", Err: event.ErrNil}} })
	vary("a function", func(ev *event.Event) { ev.Probe = function })
	vary("no ids", func(ev *event.Event) { ev.PID, ev.TID, ev.Comm = 0, 0, "" })
	vary("a stack", func(ev *event.Event) { ev.Stack = &event.Stack{PCs: []uint64{1, 2}} })
	vary("a stack that is cut", func(ev *event.Event) {
		ev.Stack = &event.Stack{PCs: []uint64{1}, Err: cut}
	})
	vary("no stack", func(ev *event.Event) { ev.Stack = &event.Stack{Err: cut} })
	for name, ev := range events {
		want := string(ev.AppendJSON(nil))
		all := Fields{fieldTime, fieldPID, fieldTID, fieldComm, fieldProbe, fieldArgs}
		if got := string(all.appendJSON(nil, &Picked{Event: ev})); got != want+"\n" {
			t.Errorf("%s: by --fields %s, alone %s", name, got, want)
		}
		if got := string(appendEventJSON(nil, &ev)); got != want+"\n" {
			t.Errorf("%s: printed %s, want %s", name, got, want)
		}
		pair := string(appendPairJSON(nil, &attach.Pair{Start: ev, End: ev, Took: time.Second}))
		if strings.Count(pair, want) != 2 {
			t.Errorf("%s: a pair is %s, want %s twice", name, pair, want)
		}
		snap := string(appendSnapshotJSON(nil, &attach.Snapshot{Events: []event.Event{ev}}, 1))
		if !strings.Contains(snap, `"events":[`+want+`]`) {
			t.Errorf("%s: a snapshot is %s, want %s in it", name, snap, want)
		}
	}
}
