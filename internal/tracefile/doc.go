// Package tracefile reads and writes the file of a tracing: the records of its events as
// they arrived, and all that decodes them on another machine. FORMAT.md describes it.
//
// A file is a sequence of chunks, each with its length and checksums, so that a file whose
// writer was killed can be read up to its last whole chunk. It may be of somebody who
// means harm: what a [File] hands out has been checked, and a decoder that follows it stays
// within the records.
package tracefile
