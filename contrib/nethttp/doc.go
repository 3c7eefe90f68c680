// Package usdthttp has a handler and a transport for net/http whose requests fire probes:
//
//	http.ListenAndServe(address, usdthttp.Handler(mux, nil))
//	client := &http.Client{Transport: usdthttp.RoundTripper(http.DefaultTransport, nil)}
//
// A request that a server answers fires http_server:request_start and
// http_server:request_done. One that a client makes fires http_client:request_start,
// http_client:response_received when the answer's header has arrived, and
// http_client:request_done when its body was read to the end, failed or was closed.
//
//	sdttrace --where 'status >= 500' http_server:request_done
//	sdttrace latency http_server:request_start http_server:request_done --key id --by route
//
// All have the arguments id, which differs for each request of the process, trace_id and
// span_id ([Options]), method, host and path.
//
//	request_start      peer: the client's address; in a client not there
//	request_done       status, bytes of the body, duration_ns, error; in a server also
//	                   route: the pattern of the http.ServeMux, if the request that it
//	                   serves is the one that the handler was given
//	response_received  status, duration_ns
//
// The status is 0 if none was sent, such as on a connection that was hijacked, or none was
// received. The error of a server is the reason of a panic, or why the request's context
// has ended. A panic goes on. Requests that begin while nobody watches a probe of the
// provider do not fire.
package usdthttp
