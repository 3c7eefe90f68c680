// Package bind decides what programs read at sites: it turns probes, options,
// conditions and aggregations into descriptions of code (package query) and of
// records (package shape). It attaches nothing, and makes no maps.
//
//   - a [Binder] has what a session asks for, and [All] binds it to sites: the
//     arguments of a note, of types or of a function, then the condition, then the
//     aggregation
//   - a [Schema] is the result for one form of a site
//   - a [Layout] is what all sites of an aggregate share, and a [PairLayout] what
//     starts and ends do
package bind
