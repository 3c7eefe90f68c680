package usdtgrpc_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/go-usdt/usdt/contrib/grpc"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

var (
	atServer = provider.New("grpc_server", nil)
	atClient = provider.New("grpc_client", nil)
)

// late is a context whose deadline passes when done is closed, however slow the machine is.
type late struct {
	context.Context
	done chan struct{}
}

func (l late) Done() <-chan struct{} { return l.done }

func (l late) Err() error {
	select {
	case <-l.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// service echoes messages.
type service struct {
	pb.UnimplementedTestServiceServer
	waits chan bool // gets a value when a call waits for its context's end
}

func (s service) UnaryCall(ctx context.Context, in *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	switch string(in.GetPayload().GetBody()) {
	case "missing":
		return nil, status.Error(codes.NotFound, "no such item")
	case "plain":
		return nil, io.ErrUnexpectedEOF
	case "wait":
		s.waits <- true
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &pb.SimpleResponse{Payload: in.Payload}, nil
}

func (s service) FullDuplexCall(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	for {
		in, err := stream.Recv()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		for range in.GetResponseParameters() {
			if err := stream.Send(&pb.StreamingOutputCallResponse{Payload: in.Payload}); err != nil {
				return err
			}
		}
	}
}

// start starts a server, and a client that is connected to it. stop returns when the
// server has answered all calls.
func start(t testing.TB, s service, server, client stats.Handler, options ...grpc.DialOption) (c pb.TestServiceClient, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serverOptions []grpc.ServerOption
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if server != nil {
		serverOptions = append(serverOptions, grpc.StatsHandler(server))
	}
	if client != nil {
		options = append(options, grpc.WithStatsHandler(client))
	}
	srv := grpc.NewServer(serverOptions...)
	pb.RegisterTestServiceServer(srv, s)
	go srv.Serve(l)
	conn, err := grpc.NewClient(l.Addr().String(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); srv.Stop() })
	return pb.NewTestServiceClient(conn), srv.GracefulStop
}

func text(body string) *pb.SimpleRequest {
	return &pb.SimpleRequest{Payload: &pb.Payload{Body: []byte(body)}}
}

// all returns the arguments of events.
func all(events []providertest.Event) (list []map[string]any) {
	for _, ev := range events {
		list = append(list, fired.Args(ev))
	}
	return list
}

// TestCalls checks what each kind of call fires at both ends.
func TestCalls(t *testing.T) {
	unary := func(body string) func(context.Context, pb.TestServiceClient) {
		return func(ctx context.Context, c pb.TestServiceClient) { c.UnaryCall(ctx, text(body)) }
	}
	waits := make(chan bool, 1)
	for _, test := range []struct {
		name           string
		call           func(context.Context, pb.TestServiceClient)
		server, client string // status, sent, received, error
	}{
		{"ok", unary("hello"), "OK 1 1 ", "OK 1 1 "},
		{"missing", unary("missing"), "NotFound 0 1 no such item", "NotFound 1 0 no such item"},
		{"plain", unary("plain"), "Unknown 0 1 unexpected EOF", "Unknown 1 0 unexpected EOF"},
		{"canceled", func(ctx context.Context, c pb.TestServiceClient) {
			ctx, cancel := context.WithCancel(ctx)
			go func() { <-waits; cancel() }()
			c.UnaryCall(ctx, text("wait"))
		}, "Canceled 0 1 context canceled", "Canceled 1 0 context canceled"},
		{"deadline", func(ctx context.Context, c pb.TestServiceClient) {
			late := late{ctx, make(chan struct{})}
			go func() { <-waits; close(late.done) }()
			c.UnaryCall(late, text("wait"))
		}, "", "DeadlineExceeded 1 0 "}, // the server may learn first that the client has given up
		{"stream", func(ctx context.Context, c pb.TestServiceClient) {
			s, err := c.FullDuplexCall(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				s.Send(&pb.StreamingOutputCallRequest{ResponseParameters: make([]*pb.ResponseParameters, 2)})
			}
			s.CloseSend()
			for err == nil {
				_, err = s.Recv()
			}
		}, "OK 6 3 ", "OK 3 6 "},
		{"abandoned", func(ctx context.Context, c pb.TestServiceClient) {
			ctx, cancel := context.WithCancel(ctx)
			s, err := c.FullDuplexCall(ctx)
			if err != nil {
				t.Fatal(err)
			}
			s.Send(&pb.StreamingOutputCallRequest{ResponseParameters: make([]*pb.ResponseParameters, 1)})
			s.Recv()
			cancel()
			for err == nil {
				_, err = s.Recv()
			}
		}, "Canceled 1 1 context canceled", "Canceled 1 1 context canceled"},
		{"refused", func(ctx context.Context, c pb.TestServiceClient) { c.EmptyCall(ctx, &pb.Empty{}) },
			"Unimplemented 0 1 method EmptyCall not implemented", "Unimplemented 1 0 method EmptyCall not implemented"},
	} {
		t.Run(test.name, func(t *testing.T) {
			servers, clients := providertest.Record(t, atServer), providertest.Record(t, atClient)
			c, stop := start(t, service{waits: waits}, usdtgrpc.ServerHandler(nil), usdtgrpc.ClientHandler(nil))
			test.call(t.Context(), c)
			stop()
			for _, side := range []struct {
				name string
				rec  *providertest.Recorder
				want string
			}{{"server", servers, test.server}, {"client", clients, test.client}} {
				starts, done := all(side.rec.Events("request_start")), all(side.rec.Events("request_done"))
				if len(starts) != 1 || len(done) != 1 {
					t.Errorf("%s: %d calls began, %d ended", side.name, len(starts), len(done))
					continue
				}
				d := done[0]
				if got := fmt.Sprint(d["status"], " ", d["sent"], " ", d["received"], " ", d["error"]); !strings.HasPrefix(got, side.want) {
					t.Errorf("%s: got %q, want %q", side.name, got, side.want)
				}
				if d["id"] != starts[0]["id"] || d["method"] != starts[0]["method"] || !strings.HasPrefix(d["method"].(string), "/grpc.testing.TestService/") ||
					!strings.HasPrefix(d["peer"].(string), "127.0.0.1:") || d["duration_ns"].(time.Duration) <= 0 {
					t.Errorf("%s: got %v and %v", side.name, starts[0], d)
				}
				sent, received := side.rec.Events("message_sent"), side.rec.Events("message_received")
				if uint64(len(sent)) != d["sent"] || uint64(len(received)) != d["received"] {
					t.Errorf("%s: %d and %d messages, and %v", side.name, len(sent), len(received), d)
				}
			}
		})
	}
}

// TestAttempts checks that a call which is retried fires for each attempt, and that one
// which reaches nobody fires as well.
func TestAttempts(t *testing.T) {
	const retry = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["NOT_FOUND"]}}]}`
	c, stop := start(t, service{}, nil, usdtgrpc.ClientHandler(nil), grpc.WithDefaultServiceConfig(retry))
	for _, test := range []struct {
		body, status string
		calls        int
	}{{"missing", "NotFound", 3}, {"hello", "Unavailable", 1}} {
		rec := providertest.Record(t, atClient)
		c.UnaryCall(t.Context(), text(test.body))
		done := all(rec.Events("request_done"))
		if len(done) != test.calls || len(rec.Events("request_start")) != test.calls {
			t.Errorf("%d calls, want %d", len(done), test.calls)
		}
		for _, d := range done {
			if d["status"] != test.status {
				t.Errorf("got %v, want %s", d, test.status)
			}
		}
		stop()
	}
}

// TestHandlers checks that several handlers of one server do not mix their calls, and
// that a call a handler makes is another one.
func TestHandlers(t *testing.T) {
	rec := providertest.Record(t, atServer)
	c, stop := start(t, service{}, pair{usdtgrpc.ServerHandler(nil), usdtgrpc.ServerHandler(nil)}, nil)
	if _, err := c.UnaryCall(t.Context(), text("hello")); err != nil {
		t.Fatal(err)
	}
	stop()
	ids := map[any]int{}
	for _, name := range []string{"request_start", "message_received", "message_sent", "request_done"} {
		for _, args := range all(rec.Events(name)) {
			ids[args["id"]]++
		}
	}
	if len(ids) != 2 {
		t.Errorf("got the calls %v, want two", ids)
	}
	for id, n := range ids {
		if n != 4 {
			t.Errorf("call %v fired %d times, want 4", id, n)
		}
	}
}

// pair passes everything to two handlers.
type pair [2]stats.Handler

func (p pair) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	return p[1].TagRPC(p[0].TagRPC(ctx, i), i)
}
func (p pair) HandleRPC(ctx context.Context, s stats.RPCStats) {
	p[0].HandleRPC(ctx, s)
	p[1].HandleRPC(ctx, s)
}
func (p pair) TagConn(ctx context.Context, i *stats.ConnTagInfo) context.Context {
	return p[1].TagConn(p[0].TagConn(ctx, i), i)
}
func (p pair) HandleConn(ctx context.Context, s stats.ConnStats) {
	p[0].HandleConn(ctx, s)
	p[1].HandleConn(ctx, s)
}

type traceKey struct{}

// TestTraced has sdttrace print the calls of many clients.
func TestTraced(t *testing.T) {
	opts := &usdtgrpc.Options{IDs: func(ctx context.Context) (trace [16]byte, span [8]byte) {
		trace[0], _ = ctx.Value(traceKey{}).(byte)
		return trace, span
	}}
	c, stop := start(t, service{}, usdtgrpc.ServerHandler(opts), usdtgrpc.ClientHandler(opts))
	tr := fired.Trace(t, "grpc_*:*")
	one := fired.Trace(t, "grpc_client:request_done", "--where", fmt.Sprintf("trace_id == %q", "03"+strings.Repeat("00", 15)))
	const clients, requests = 8, 25
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			ctx := context.WithValue(t.Context(), traceKey{}, byte(i+1))
			for range requests {
				if _, err := c.UnaryCall(ctx, text(strings.Repeat("x", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	stop()
	counts, ids := map[string]int{}, map[any]int{}
	for _, ev := range tr.Stop() {
		counts[ev.Provider+":"+ev.Name]++
		ids[ev.Args["id"]]++
		if ev.Name == "request_done" && (ev.Args["status"] != "OK" || ev.Args["sent"] != 1.0 || ev.Args["received"] != 1.0) {
			t.Errorf("got %v", ev.Args)
		}
	}
	const n = clients * requests
	for _, side := range []string{"grpc_server:", "grpc_client:"} {
		for _, name := range []string{"request_start", "message_sent", "message_received", "request_done"} {
			if counts[side+name] != n {
				t.Errorf("%d events of %s%s, want %d", counts[side+name], side, name, n)
			}
		}
	}
	for id, count := range ids {
		if count != 4 {
			t.Errorf("call %v fired %d times, want 4", id, count)
		}
	}
	if events := one.Stop(); len(events) != requests {
		t.Errorf("%d events of one trace, want %d", len(events), requests)
	}
}

// TestKnown checks that package prototype knows the probes.
func TestKnown(t *testing.T) {
	fired.Known(t, "grpc_server", 4)
	fired.Known(t, "grpc_client", 4)
}

// TestAllocs checks that a handler allocates nothing while nobody watches. The allocations that
// gRPC makes for it are the same for any handler.
func TestAllocs(t *testing.T) {
	info, begin, end := &stats.RPCTagInfo{}, &stats.Begin{}, &stats.End{}
	call := func(h stats.Handler) func() {
		return func() {
			ctx := h.TagRPC(t.Context(), info)
			h.HandleRPC(ctx, begin)
			h.HandleRPC(ctx, end)
		}
	}
	fired.NoAllocs(t, call(nothing{}), call(usdtgrpc.ServerHandler(nil)))
}

// BenchmarkCall makes calls without handlers, with handlers that do nothing, and with
// those of this package while nobody watches.
func BenchmarkCall(b *testing.B) {
	if err := provider.LoadAll(nil); err != nil {
		b.Fatal(err)
	}
	defer provider.CloseAll()
	for _, h := range []struct {
		name           string
		server, client stats.Handler
	}{{"bare", nil, nil}, {"nothing", nothing{}, nothing{}}, {"wrapped", usdtgrpc.ServerHandler(nil), usdtgrpc.ClientHandler(nil)}} {
		b.Run(h.name, func(b *testing.B) {
			c, _ := start(b, service{}, h.server, h.client)
			in := text("hello")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.UnaryCall(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHandler is what the handler itself takes while nobody watches.
func BenchmarkHandler(b *testing.B) {
	h, info, end := usdtgrpc.ServerHandler(nil), &stats.RPCTagInfo{}, &stats.End{}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		h.HandleRPC(h.TagRPC(ctx, info), end)
	}
}

// nothing is a handler that does nothing.
type nothing struct{}

func (nothing) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (nothing) HandleRPC(context.Context, stats.RPCStats)                         {}
func (nothing) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (nothing) HandleConn(context.Context, stats.ConnStats)                       {}
