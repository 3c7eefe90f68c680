package attach_test

import "github.com/go-usdt/usdt/attach"

// Everything that attaches has one interface.
var _ = []attach.Tracer{(*attach.Session)(nil), (*attach.Aggregate)(nil), (*attach.Latency)(nil), (*attach.Pairs)(nil), (*attach.Spans)(nil), (*attach.Recorder)(nil)}
