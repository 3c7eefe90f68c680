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
// The events have the arguments that tracers get, with the same names, types and values, see
// package event/args: a number is an int64 or uint64, a record's struct an args.Struct. Strings
// and bytes are whole, and pointers are not followed, as in an attach.Session without
// Options.Follow. The first eight elements of a slice are read if they have strings.
// Tracers read at most 63 strings and slices of one record, this package all of them.
//
// The package requires golang.org/x/sys and nothing else, as package provider does: a library
// that uses both has no other module in its go.mod.
//
// Arguments are read when a probe fires. An event's time is that of [time.Now], also
// in a bubble of package testing/synctest. Tests that record the same provider at
// once see each other's events; see [Recorder.Own].
//
// [Check] finds wrong declarations, for a library's tests that fire nothing.
package providertest
