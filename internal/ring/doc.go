// Package ring carries records from the process in which probes fire to a tracer,
// through shared memory. FORMAT.md has the bytes: "Events in shared memory".
//
// A [Writer] belongs to the process that fires. It makes two memory files for each
// tracer: the tracer can only read the one with the records, and writes to the other
// one how far it has read. A [Reader] belongs to the tracer, and returns records in
// the format of package record, in the order in which they were made.
//
// Writing takes no system call and waits for nobody: the memory is divided into
// shards, and a goroutine writes to one that nobody else is writing to. Where all are
// taken, and where a shard is full, a record is lost and counted. Neither side trusts
// the other: a Writer reads nothing but the tracer's positions, and a Reader copies
// each record once before it looks at it.
package ring
