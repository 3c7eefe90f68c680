// Package timeline reads Perfetto's traces in tests: it decodes them by the published
// numbers and types of fields, accepts no others, and puts slices, arguments, flows,
// counters and stacks together as Perfetto's trace_processor does. Where that is installed,
// as part of Debian's package chromium-shell, it also reads the traces, and has to see the
// same.
package timeline
