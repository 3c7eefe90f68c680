// Package query describes what is asked of a site, as data. Two parties answer it: programs
// that package codegen generates for the kernel, and package tally, which computes the same
// from records. Package bind asks.
//
//   - a [Signature] has all of it for one form of a site: the record, the condition, the
//     aggregate
//   - an [Input] is a value that conditions and aggregates use, an [Aggregate] what is added
//     up and by what, a [Part] a part of its key
//   - [Values] are the sums of a group, in words: the kernel's and tally's are alike,
//     and [Merge] adds them
//
// It knows no instructions, no maps and no probes.
package query
