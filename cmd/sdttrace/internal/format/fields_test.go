package format

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// TestFields checks which parts of an event are printed, and in which order.
func TestFields(t *testing.T) {
	ev := event.Event{
		Time: time.Date(2026, 11, 24, 9, 8, 7, 6000, time.UTC), PID: 12, TID: 13, Comm: "shop worker", Provider: "shop", Name: "done",
		Args: []event.Arg{
			{Name: "id", Value: uint64(7)},
			{Name: "peer", Value: event.Struct{{Name: "host", Value: "a b"}, {Name: "port", Value: uint64(80), Err: errors.New("cut")}}},
			{Name: "gone", Err: errors.New("fault")},
		},
	}
	nowhere, nameless, record := ev, ev, ev
	record.Args = []event.Arg{{Name: "rid", Err: event.ErrNil}, {Name: "rpath", Err: event.ErrNil}}
	nowhere.PID, nowhere.TID = 0, 0
	nameless.Comm = ""
	at := map[string]event.Arg{
		"id": ev.Args[0], "arg0": ev.Args[0], "peer.host": {Name: "peer.host", Value: "a b"}, "gone.up": {Name: "gone.up", Err: errors.New("fault")},
		"rid": record.Args[0], "rpath": record.Args[1],
	}
	for _, test := range []struct {
		fields     string
		of         *event.Event
		text, json string
	}{
		{"time,comm,pid,probe,args", &ev, `09:08:07.000006 shop worker/12 shop:done id=7 peer={host="a b" port=80...} gone=?(fault)`,
			`{"time":"2026-11-24T09:08:07.000006000Z","comm":"shop worker","pid":12,"provider":"shop","name":"done","args":{"id":7,"peer":{"host":"a b","port":80},"gone":null},"errors":{"peer.port":"cut","gone":"fault"}}`},
		{"args", &ev, `id=7 peer={host="a b" port=80...} gone=?(fault)`, `{"args":{"id":7,"peer":{"host":"a b","port":80},"gone":null},"errors":{"peer.port":"cut","gone":"fault"}}`},
		{"comm,pid,tid", &ev, `shop worker/12/13`, `{"comm":"shop worker","pid":12,"tid":13}`},
		{"tid,id,pid", &ev, `13 id=7 12`, `{"tid":13,"pid":12,"args":{"id":7}}`},
		{"pid,id", &nowhere, `?(no PID here) id=7`, `{"pid":null,"args":{"id":7}}`},
		{"peer.host,id", &ev, `peer.host="a b" id=7`, `{"args":{"peer.host":"a b","id":7}}`},
		{"gone.up,arg0", &ev, `gone.up=?(fault) id=7`, `{"args":{"gone.up":null,"id":7},"errors":{"gone.up":"fault"}}`},
		{"id,args,peer.host", &ev, `id=7 id=7 peer={host="a b" port=80...} gone=?(fault) peer.host="a b"`, `{"args":{"id":7,"peer":{"host":"a b","port":80},"gone":null,"peer.host":"a b"},"errors":{"peer.port":"cut","gone":"fault"}}`},
		{"time,comm,pid", &nameless, `09:08:07.000006 /12`, `{"time":"2026-11-24T09:08:07.000006000Z","comm":"","pid":12}`},
		{"pid,missing,tid", &ev, `12/13`, `{"pid":12,"tid":13}`},
		{"missing,id", &ev, `id=7`, `{"args":{"id":7}}`},
		{"rid,pid,rpath", &record, `nil 12`, `{"pid":12,"args":null}`},
		{"probe,rid,args", &record, `shop:done nil`, `{"provider":"shop","name":"done","args":null}`},
		{"args,tid", &record, `nil 13`, `{"tid":13,"args":null}`},
		{"peer.missing,missing", &ev, ``, ``},
	} {
		f := Fields(strings.Split(test.fields, ","))
		p := Picked{Event: *test.of}
		for _, name := range f {
			a, has := at[name]
			if has {
				p.named = append(p.named, a)
			}
			p.has = append(p.has, has)
		}
		want := func(line string) string {
			if line == "" {
				return ""
			}
			return "> " + line + "\n"
		}
		cut := func(line []byte) string {
			if string(line) == "> " {
				return ""
			}
			return string(line)
		}
		if got := cut(f.appendText([]byte("> "), &p)); got != want(test.text) {
			t.Errorf("--fields %s: got %q, want %q", test.fields, got, want(test.text))
		}
		if got := cut(f.appendJSON([]byte("> "), &p)); got != want(test.json) {
			t.Errorf("--fields %s: got JSON %q, want %q", test.fields, got, want(test.json))
		}
	}
}

// TestFieldsOmit checks what is not recorded since it is not printed.
func TestFieldsOmit(t *testing.T) {
	for _, test := range []struct {
		fields string
		stack  bool
		want   attach.Omit
	}{
		{"", false, 0},
		{"args", false, attach.OmitTime | attach.OmitComm | attach.OmitProcess},
		{"args", true, attach.OmitTime | attach.OmitComm},
		{"tid,id", false, attach.OmitTime | attach.OmitComm},
		{"time,comm,pid", false, 0},
	} {
		var f Fields
		if test.fields != "" {
			f = strings.Split(test.fields, ",")
		}
		if got := f.Omit(test.stack); got != test.want {
			t.Errorf("--fields %s, stacks %v: omits %b, want %b", test.fields, test.stack, got, test.want)
		}
	}
}
