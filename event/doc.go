// Package event holds what a traced probe delivers: an [Event] with the values of
// its arguments, as Go values and as JSON.
//
// The arguments of a probe that its object describes by types (see FORMAT.md)
// arrive with their names and types: durations, times and IP addresses as
// [time.Duration], [time.Time] and [netip.Addr], records as [Struct], arrays and
// slices as [List]. An argument that could not be read has an error instead of a
// value, and the event's other arguments are right: see [Arg].
//
// Package attach delivers events of other processes, by its Session.Events, or as a
// [View] of each, which costs no memory, by Session.Views. This package knows nothing
// of how events are gathered, and needs no privilege.
package event
