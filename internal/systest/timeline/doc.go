// Package timeline reads Perfetto's traces in tests: it decodes them by the published
// numbers and types of fields, accepts no others, and puts slices, arguments, flows,
// counters and stacks together as Perfetto's trace processor does.
package timeline
