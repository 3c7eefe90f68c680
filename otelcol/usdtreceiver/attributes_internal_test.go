package usdtreceiver

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/total"
)

// TestUTF8 checks that messages have no text that is not UTF-8, whatever programs call themselves,
// their threads, probes and arguments.
func TestUTF8(t *testing.T) {
	const bad = "bad\xff"
	args := []event.Arg{
		{Name: bad, Value: bad}, {Name: "unread" + bad, Err: errors.New(bad)},
		{Name: "in", Value: event.Struct{{Name: bad, Value: event.List{{Value: bad}}}}},
	}
	ev := event.Event{PID: 1, TID: 1, Comm: bad, Provider: bad, Name: bad, Args: args}
	groups := []total.Group{
		{By: append([]event.Arg{{Name: "probe", Value: bad + ":" + bad}}, args...), Count: 1, Sum: int64(1)},
		{By: append([]event.Arg{{Name: "probe", Value: bad + ":" + bad}, {Name: "pid", Value: uint64(1)}, {Name: "stack", Err: errors.New(bad)}}, args...), Count: 1},
	}
	e := &env{resources: newResources()}
	e.resources.known[1] = process{map[string]string{"process.executable.path": "/" + bad}, time.Now().Add(time.Hour)}
	now := time.Now()
	for name, marshal := range map[string]func() ([]byte, error){
		"logs": func() ([]byte, error) {
			task := &logsTask{&Trace{Logs: &Logs{}}}
			return (&plog.ProtoMarshaler{}).MarshalLogs(task.logs(e, []logged{{Event: ev}}))
		},
		"spans": func() ([]byte, error) {
			trace := &Trace{Spans: &Spans{}}
			return (&ptrace.ProtoMarshaler{}).MarshalTraces(trace.spans(e, []*span{trace.spanOf(attach.Pair{Start: ev, End: ev})}))
		},
		"metrics": func() ([]byte, error) {
			task := &metricsTask{trace: &Trace{Probes: []string{"*:*"}, Metrics: &Metrics{Show: []string{"sum"}}}}
			return (&pmetric.ProtoMarshaler{}).MarshalMetrics(task.metrics(e, groups[:1], now, now))
		},
		"profiles": func() ([]byte, error) {
			task := &profilesTask{trace: &Trace{Profiles: &Profiles{}}}
			return (&pprofile.ProtoMarshaler{}).MarshalProfiles(task.profiles(e, groups[1:], now, now))
		},
	} {
		b, err := marshal()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Contains(b, []byte("bad\uFFFD")) || bytes.Contains(b, []byte(bad)) {
			t.Errorf("%s: %q", name, b)
		}
	}
}
