// Package providertest records what the probes of this process fire, for tests of the
// code that fires them:
//
//	func TestHandler(t *testing.T) {
//		rec := providertest.Record(t, web)
//		serve(t, "/index.html")
//		if done := rec.Events("request_done"); len(done) != 1 || done[0].Args[0].Value != "/index.html" {
//			t.Errorf("events of request_done: %v", done)
//		}
//	}
//
// Recording takes no privilege, no tracer and no kernel. It works whether probes are
// loaded or not, also where they cannot be loaded (on macOS and Windows, or in a
// container that forbids it), and where USDT_DISABLE is set, which concerns only
// tracers. Tracers that watch the same probes are not disturbed, and their counts are
// not touched.
//
// The events are the ones that tracers get: each firing passes through the record format and the
// decoder of package event, with the types that tracers read. Strings and bytes are whole, and
// pointers are not followed, as in an attach.Session without Options.Follow. A record shows the
// first eight elements of a slice of structs that have strings.
//
// Arguments are read when a probe fires. An event's time is that of [time.Now], also
// in a bubble of package testing/synctest. Tests that record the same provider at
// once see each other's events; see [Recorder.Own].
//
// [Check] finds wrong declarations, for a library's tests that fire nothing.
package providertest
