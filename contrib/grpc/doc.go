// Package usdtgrpc has handlers of statistics for gRPC whose calls fire probes:
//
//	server := grpc.NewServer(grpc.StatsHandler(usdtgrpc.ServerHandler(nil)))
//	conn, err := grpc.NewClient(target, grpc.WithStatsHandler(usdtgrpc.ClientHandler(nil)), …)
//
// A call that a server answers fires grpc_server:request_start and
// grpc_server:request_done, one that a client makes grpc_client:request_start and
// grpc_client:request_done. Each message fires message_sent or message_received of the
// same provider.
//
//	sdttrace --where 'status != "OK"' 'grpc_*:request_done'
//	sdttrace latency grpc_server:request_start grpc_server:request_done --key id --by method
//
// All have the arguments id, which differs for each call of the process, trace_id and
// span_id ([Options]), and method, such as "/grpc.health.v1.Health/Check".
//
//	request_start     peer: the client's address; empty in a client
//	request_done      peer, status as in "NotFound", sent and received (messages),
//	                  duration_ns, error: the status's message
//	message_sent,
//	message_received  bytes, before compression
//
// A call that is retried is one for each attempt. Methods that a server does not have fire
// nothing there. Calls that begin while nobody watches a probe of the provider do not fire.
package usdtgrpc
