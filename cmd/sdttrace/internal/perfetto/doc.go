// Package perfetto writes events as a trace of Perfetto (https://perfetto.dev), which its
// user interface draws as a timeline: a track for each process and thread, events on them
// as instants, pairs of events as slices, arrows between events that have an argument in
// common, arguments that are numbers as counters, and stacks.
//
// A trace is a sequence of packets, each with its length in front, see
// https://perfetto.dev/docs/reference/synthetic-track-event and
// https://perfetto.dev/docs/reference/trace-packet-proto. The numbers of fields come from
// protos/perfetto/trace of https://github.com/google/perfetto.
package perfetto
