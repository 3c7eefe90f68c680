package usdtgrpc

import (
	"time"

	"github.com/go-usdt/usdt/provider"
)

// side are the probes of servers or of clients.
type side struct {
	provider       *provider.Provider
	start          *provider.StructProbe[requestStart]
	done           *provider.StructProbe[requestDone]
	sent, received *provider.StructProbe[message]
}

var (
	server = newSide("grpc_server")
	client = newSide("grpc_client")
)

func newSide(name string) *side {
	p := provider.New(name, nil)
	return &side{
		p,
		provider.NewStructProbe[requestStart](p, "request_start"),
		provider.NewStructProbe[requestDone](p, "request_done"),
		provider.NewStructProbe[message](p, "message_sent"),
		provider.NewStructProbe[message](p, "message_received"),
	}
}

// request is what all probes say of a call.
type request struct {
	ID      uint64   `usdt:"id"`
	TraceID [16]byte `usdt:"trace_id"`
	SpanID  [8]byte  `usdt:"span_id"`
	Method  string   `usdt:"method"`
}

type requestStart struct {
	request
	Peer string `usdt:"peer"`
}

type requestDone struct {
	request
	Peer     string        `usdt:"peer"`
	Status   string        `usdt:"status"`
	Sent     uint64        `usdt:"sent"`
	Received uint64        `usdt:"received"`
	Duration time.Duration `usdt:"duration_ns"`
	Error    string        `usdt:"error"`
}

type message struct {
	request
	Bytes int `usdt:"bytes"`
}
