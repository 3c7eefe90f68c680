package usdtsql

import (
	"context"
	"database/sql/driver"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/provider"
)

var (
	probes   = provider.New("sql", nil)
	start    = provider.NewStructProbe[call](probes, "request_start")
	done     = provider.NewStructProbe[requestDone](probes, "request_done")
	rowsDone = provider.NewStructProbe[rowsEnd](probes, "rows_done")

	requests atomic.Uint64
)

// call is what all probes say of a call.
type call struct {
	ID        uint64   `usdt:"id"`
	TraceID   [16]byte `usdt:"trace_id"`
	SpanID    [8]byte  `usdt:"span_id"`
	Method    string   `usdt:"method"`
	DB        string   `usdt:"db"`
	Statement string   `usdt:"statement"`
}

type requestDone struct {
	call
	Status   string        `usdt:"status"`
	Duration time.Duration `usdt:"duration_ns"`
	Error    provider.Text `usdt:"error"`
}

type rowsEnd struct {
	call
	Rows     uint64        `usdt:"rows"`
	Duration time.Duration `usdt:"duration_ns"`
	Error    provider.Text `usdt:"error"`
}

// Options say what calls pass. Nil means the default.
type Options struct {
	// DB is passed as db, for services that have several databases.
	DB string

	// IDs returns the identifiers of the span in a call's context. The function of that
	// name in contrib/otel is one. If it is nil, trace_id and span_id are zeros.
	IDs func(context.Context) (traceID [16]byte, spanID [8]byte)
}

// request is a call that began while somebody watched; nil for any other.
type request struct {
	call
	begin time.Time
}

// request begins a call.
func (o *Options) request(ctx context.Context, method, statement string) *request {
	if !probes.Enabled() {
		return nil
	}
	return o.watched(ctx, method, statement)
}

func (o *Options) watched(ctx context.Context, method, statement string) *request {
	r := &request{call{ID: requests.Add(1), Method: method, DB: o.DB, Statement: statement}, time.Now()}
	if o.IDs != nil {
		r.TraceID, r.SpanID = o.IDs(ctx)
	}
	start.Fire(&r.call)
	return r
}

// end ends a call whose result is err.
func (r *request) end(err error) {
	if r != nil {
		r.fire(err)
	}
}

func (r *request) fire(err error) {
	status := "ok"
	switch {
	case err == driver.ErrSkip:
		status, err = "skip", nil
	case err != nil:
		status = "error"
	}
	done.Fire(&requestDone{r.call, status, time.Since(r.begin), provider.Error(err)})
}
